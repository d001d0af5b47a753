/**
 * Our own rules for what surrounds a deployment: its edge (Ingress or HTTPRoute), the external systems that it uses, and its
 * releases. Each rule has the form of those in kubernetes/rules.ts.
 */
import type { IIngress, INetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1'
import { type Manifest, workloadsOf } from './kubernetes/render.ts'
import { environmentsOf, policiesOf, type Rule } from './kubernetes/rules.ts'

/** A finished Job and its pods are kept for at least the minimum and at most the maximum. */
const MAX_TTL_SECONDS = 7 * 24 * 60 * 60
const MIN_TTL_SECONDS = 60 * 60
/** A metric of ours in an autoscaler's query, with its namespace. */
const METRIC = /agentmsg_\w+(\{namespace="([^"]*)"\})?/g

/** What ingress-nginx and OpenShift's router need to send each request once and each event at once. Others may change requests. */
const HARMLESS_ANNOTATIONS: Readonly<Record<string, string>> = {
  'nginx.ingress.kubernetes.io/proxy-next-upstream': 'off',
  'nginx.ingress.kubernetes.io/proxy-buffering': 'off',
  'nginx.ingress.kubernetes.io/proxy-read-timeout': '330',
  'nginx.ingress.kubernetes.io/proxy-body-size': '1m',
  'haproxy.router.openshift.io/timeout': '330s',
  'haproxy.router.openshift.io/balance': 'leastconn',
  'haproxy.router.openshift.io/disable_cookies': 'true',
  'haproxy.router.openshift.io/set-forwarded-headers': 'append',
}

export const PLACE_RULES = {
  'outside of a trial, one edge serves the public host and changes nothing that clients signed': ({
    manifests,
    overlay,
  }) => {
    const [host] = environmentsOf(manifests).get('gateway')?.SVC_AUTHORITY?.split(':') ?? []
    const edges = manifests.filter(({ kind }) => ['HTTPRoute', 'Ingress', 'Route'].includes(kind))
    return [
      ...(overlay === 'trial' || edges.length === 1 ? [] : [`there are ${edges.length} edges instead of one`]),
      ...edges.flatMap((edge) =>
        hostsOf(edge).join() === host ? [] : [`${hostsOf(edge).join()} is not the authority`],
      ),
      ...edges.flatMap(({ metadata }) =>
        Object.entries(metadata.annotations ?? {})
          .filter(([name, value]) => HARMLESS_ANNOTATIONS[name] !== value)
          .map(([name, value]) => `the edge has the annotation ${name}: ${value}`),
      ),
      ...edges.flatMap((edge) => EDGES[edge.kind as keyof typeof EDGES](edge)),
    ]
  },

  'a process that uses NATS, Postgres or the collector has exactly one narrow way to it': ({ manifests }) =>
    workloadsOf(manifests).flatMap(({ manifest, template, containers }) => {
      const told = new Set(containers.flatMap(({ env = [] }) => env.map(({ name }) => name)))
      const wanted = [
        ...(told.has('SVC_NATS_URL_FILE') ? ['nats'] : []),
        ...(told.has('SVC_DATABASE_URL_FILE') ? ['databases'] : []),
        ...(told.has('OTEL_EXPORTER_OTLP_ENDPOINT') ? ['collector'] : []),
      ]
      const open = policiesOf(manifests).filter((policy) => selects(policy, template.metadata?.labels ?? {}))
      return wanted.flatMap((what) => {
        const found = open.filter(({ metadata }) => RegExp(`^to-(external-)?${what}$`).test(metadata?.name ?? ''))
        if (found.length !== 1)
          return [`${manifest.metadata.name} has ${found.length} policies for ${what} instead of one`]
        return found.flatMap(({ spec }) => (spec?.egress ?? []).flatMap(isNarrow(`${manifest.metadata.name}: ${what}`)))
      })
    }),

  "the operator's pod may reach NATS": ({ manifests }) => {
    const labels = { 'app.kubernetes.io/component': 'operator' }
    const found = policiesOf(manifests).filter(
      (policy) => /^to-(external-)?nats$/.test(policy.metadata?.name ?? '') && selects(policy, labels),
    )
    return found.length === 1 ? [] : [`the operator has ${found.length} policies for NATS instead of one`]
  },

  'the name of a job ends with the release, and an ended job is removed': ({ manifests }) =>
    manifests
      .filter(({ kind }) => kind === 'Job')
      .flatMap(({ metadata, spec }) => {
        const { ttlSecondsAfterFinished: ttl = 0, activeDeadlineSeconds } = spec as Record<string, number>
        return [
          ...(/^(migrate|roles)-[a-z]+-[a-z0-9-]+$/.test(metadata.name)
            ? []
            : [`the name ${metadata.name} does not end with a release`]),
          ...(ttl >= MIN_TTL_SECONDS && ttl <= MAX_TTL_SECONDS
            ? []
            : [`${metadata.name} is removed ${ttl} s after its end`]),
          ...(activeDeadlineSeconds === undefined ? [`${metadata.name} may run for ever`] : []),
        ]
      }),

  'autoscalers query only metrics of their own namespace': ({ manifests }) =>
    manifests
      .filter(({ kind }) => kind === 'ScaledObject')
      .flatMap(({ metadata, spec }) => {
        const { triggers } = spec as { triggers: { metadata: { query?: string } }[] }
        const metrics = triggers.flatMap(({ metadata: { query = '' } }) => [...query.matchAll(METRIC)])
        return metrics
          .filter(([, , namespace]) => namespace !== metadata.namespace)
          .map(([metric]) => `${metadata.name} queries ${metric}, which is not limited to its namespace`)
      }),

  'all objects are in the namespace of the overlay, except those of the whole cluster': ({ manifests }) => {
    const names = manifests.filter(({ kind }) => kind === 'Namespace').map(({ metadata }) => metadata.name)
    const outside = manifests.filter(
      ({ kind, metadata }) => !['Namespace', 'PriorityClass'].includes(kind) && metadata.namespace !== names[0],
    )
    return [
      ...(names.length === 1 ? [] : [`there are ${names.length} namespaces`]),
      ...outside.map(({ kind, metadata }) => `${kind} ${metadata.name} is in ${metadata.namespace}`),
    ]
  },

  'outside of a trial, every pod has a priority class, except those of jobs': ({ manifests, overlay }) =>
    overlay === 'trial'
      ? []
      : workloadsOf(manifests)
          .filter(
            ({ manifest, template }) =>
              ['Job', 'CronJob'].includes(manifest.kind) === 'priorityClassName' in (template.spec ?? {}),
          )
          .map(({ manifest }) => `${manifest.kind} ${manifest.metadata.name}`),

  'a pod mounts each of its volumes, and no others': ({ manifests }) =>
    workloadsOf(manifests).flatMap(({ manifest, template, containers }) => {
      const claims = (manifest.spec as { volumeClaimTemplates?: Manifest[] }).volumeClaimTemplates ?? []
      const had = [
        ...(template.spec?.volumes ?? []).map(({ name }) => name),
        ...claims.map(({ metadata }) => metadata.name),
      ]
      const used = containers.flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name))
      return [...new Set([...had, ...used])]
        .filter((name) => !(had.includes(name) && used.includes(name)))
        .map((name) => `${manifest.metadata.name}: the volume ${name} is not both declared and mounted`)
    }),
} satisfies Record<string, Rule>

const EDGES = { HTTPRoute: problemsOfRoute, Ingress: problemsOfIngress, Route: problemsOfOpenShiftRoute }

function hostsOf(edge: Manifest): string[] {
  if (edge.kind === 'HTTPRoute') return (edge.spec as { hostnames?: string[] }).hostnames ?? []
  if (edge.kind === 'Route') return [(edge.spec as { host: string }).host]
  return ((edge as unknown as IIngress).spec?.rules ?? []).map(({ host = '' }) => host)
}

function problemsOfIngress(edge: Manifest): string[] {
  const { spec } = edge as unknown as IIngress
  const paths = (spec?.rules ?? []).flatMap(({ http }) => http?.paths ?? [])
  return [
    ...(spec?.tls?.length ? [] : ['the edge has no certificate']),
    ...(spec?.ingressClassName ? [] : ['the edge has no ingressClassName']),
    ...(paths.map(({ path, pathType }) => `${pathType} ${path}`).join() === 'Prefix /'
      ? []
      : ['the edge does not forward exactly the prefix /']),
  ]
}

function problemsOfOpenShiftRoute({ spec }: Manifest): string[] {
  const { tls, path } = spec as { tls?: { termination?: string }; path?: string }
  return [
    ...(tls?.termination === 'edge' ? [] : ['the edge has no certificate']),
    ...(path === undefined ? [] : ['the edge forwards only a part of the paths']),
  ]
}

interface RouteRule {
  readonly matches: { path: { type: string; value: string } }[]
  readonly filters?: unknown[]
  readonly timeouts?: { request?: string; backendRequest?: string }
}

/** A stream lasts longer than a timeout for requests would allow. */
function problemsOfRoute({ spec }: Manifest): string[] {
  const { rules, parentRefs } = spec as { rules: RouteRule[]; parentRefs?: { name?: string; sectionName?: string }[] }
  const stream = rules.find(({ matches }) => matches.some(({ path }) => path.value === '/v2/stream'))
  return [
    ...(parentRefs?.length === 1 && parentRefs[0]?.sectionName ? [] : ['the route does not name one listener']),
    ...rules.flatMap(({ filters = [] }) => filters.map(() => 'the route has a filter')),
    ...(stream?.timeouts?.request === '0s' && stream.timeouts.backendRequest === '0s'
      ? []
      : ['streams have a timeout']),
  ]
}

function selects({ spec }: INetworkPolicy, labels: Readonly<Record<string, string>>): boolean {
  const { matchLabels = {}, matchExpressions = [] } = spec?.podSelector ?? {}
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(
      ({ key, operator, values = [] }) => values.includes(labels[key] ?? '') === (operator === 'In'),
    )
  )
}

type Egress = NonNullable<NonNullable<INetworkPolicy['spec']>['egress']>[number]

/** Allows one port, and only pods that a selector names, or networks of at most 256 IPv4 addresses or one IPv6 subnet. */
function isNarrow(what: string): (egress: Egress) => string[] {
  return ({ to = [], ports = [] }) => [
    ...(ports.length === 1 && typeof ports[0]?.port === 'number' ? [] : [`${what}: does not allow exactly one port`]),
    ...(to.length > 0 ? [] : [`${what}: allows every address`]),
    ...to
      .flatMap(({ ipBlock }) => ipBlock?.cidr ?? [])
      .filter((cidr) => Number(cidr.split('/')[1]) < (cidr.includes(':') ? 64 : 24))
      .map((cidr) => `${what}: allows ${cidr}, more than a subnet`),
  ]
}
