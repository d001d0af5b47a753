/** Our own rules for manifests. Each returns the errors of a rendered overlay, one sentence for each error. */
import { PROGRAMS } from '@svc/build/programs.ts'
import { DRAIN_LIMIT_MS } from '@svc/service/run-service.ts'
import type { IHorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2'
import type { INetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1'
import type { IPodDisruptionBudget } from 'kubernetes-models/policy/v1'
import type { IProbe } from 'kubernetes-models/v1'
import { connectionLimit, connectionsAtMost, KEPT_CONNECTIONS } from '../connections.ts'
import { findDisagreements, findVariableProblems, placeholderFor } from '../environment-rules.ts'
import { configProblems, type Facts } from '../facts.ts'
import { environmentOf, type Manifest, nameOf, type Overlay, servicesOf, type Workload, workloadsOf } from './render.ts'

interface RuleContext {
  readonly manifests: readonly Manifest[]
  readonly overlay: Overlay
  readonly facts: Facts
}
export type Rule = (context: RuleContext) => string[]

/** Kinds of workload that run to completion. */
const COMMANDS = new Set(['Job', 'CronJob'])
/** What the image can run. */
const MODULES = Object.keys(PROGRAMS).map((name) => `${name}.js`)
/** The database role of a command's pod comes from a Secret that no other pod may have. */
const OF_COMMANDS = /-(owner|roles)$/
/** Certificates of NATS and its clients, which an authority inside the cluster issues. */
const OF_AUTHORITY = /^(.*-)?nats-tls$/
const VOLUME_KINDS = ['configMap', 'secret', 'emptyDir', 'persistentVolumeClaim', 'name']

export const RULES = {
  'every container has requests and limits': ({ manifests }) =>
    eachContainer(manifests, ({ resources }) =>
      ['requests', 'limits'].flatMap((kind) =>
        ['cpu', 'memory'].flatMap((what) =>
          resources?.[kind as 'limits']?.[what] === undefined ? [`has no ${kind} of ${what}`] : [],
        ),
      ),
    ),

  'every long-lived container has all three probes, and liveness differs from readiness': ({ manifests }) =>
    eachContainer(
      manifests.filter(({ kind }) => !COMMANDS.has(kind)),
      ({ startupProbe, livenessProbe, readinessProbe }) => [
        ...(startupProbe && livenessProbe && readinessProbe ? [] : ['lacks a probe']),
        ...(sameTarget(livenessProbe, readinessProbe)
          ? ['has one probe for liveness and readiness, so it restarts when it is only unready']
          : []),
      ],
    ),

  'the probes of a service have the paths and the port of libs/telemetry': ({ manifests }) =>
    [...servicesOf(manifests).values()].flatMap((workload) =>
      eachOf(workload, ({ startupProbe, livenessProbe, readinessProbe, ports = [], env = [] }) => {
        const port = ports.find(({ name }) => name === 'metrics')?.containerPort
        const told = env.find(({ name }) => name === 'SVC_METRICS_PORT')?.value
        const paths = [startupProbe, livenessProbe, readinessProbe].map((probe) => probe?.httpGet?.path)
        const ports3 = [startupProbe, livenessProbe, readinessProbe].map((probe) => probe?.httpGet?.port)
        return [
          ...(paths.join() === '/started,/live,/ready' ? [] : [`has probes at ${paths.join()}`]),
          ...(String(port) === told && ports3.every((one) => one === 'metrics')
            ? []
            : ['has a probe that is not at SVC_METRICS_PORT']),
        ]
      }),
    ),

  'pods follow the restricted pod security standard, on a read-only root': ({ manifests }) => [
    ...eachPod(manifests, ({ securityContext, hostNetwork, hostPID, hostIPC, volumes = [] }) => [
      ...(securityContext?.runAsNonRoot === true && securityContext.runAsUser !== 0 ? [] : ['may run as root']),
      ...(securityContext?.seccompProfile?.type === 'RuntimeDefault' ? [] : ['has no seccomp profile']),
      ...(hostNetwork || hostPID || hostIPC ? ['shares a namespace of the host'] : []),
      ...volumes
        .flatMap((volume) => Object.keys(volume).filter((kind) => !VOLUME_KINDS.includes(kind)))
        .map((kind) => `has a volume ${kind}`),
    ]),
    ...eachContainer(manifests, ({ securityContext }) => [
      ...(securityContext?.allowPrivilegeEscalation === false ? [] : ['may gain privileges']),
      ...(securityContext?.readOnlyRootFilesystem === true ? [] : ['may write to its root file system']),
      ...(securityContext?.capabilities?.drop?.includes('ALL') && !securityContext.capabilities.add
        ? []
        : ['keeps Linux capabilities']),
      ...(securityContext?.privileged ? ['is privileged'] : []),
    ]),
    ...manifests.flatMap(({ kind, metadata }) =>
      kind === 'Namespace' && metadata.labels?.['pod-security.kubernetes.io/enforce'] !== 'restricted'
        ? [`namespace ${metadata.name} does not enforce the restricted standard`]
        : [],
    ),
  ],

  'no pod has a token for the API server': ({ manifests }) => [
    ...eachPod(manifests, ({ automountServiceAccountToken, serviceAccountName = 'default' }) => [
      ...(automountServiceAccountToken === false ? [] : ['mounts a token']),
      ...(manifests.some(({ kind, metadata }) => kind === 'ServiceAccount' && metadata.name === serviceAccountName)
        ? []
        : [`has the service account ${serviceAccountName}, which no manifest defines`]),
    ]),
    ...manifests.flatMap(({ kind, metadata, automountServiceAccountToken }) =>
      kind === 'ServiceAccount' && automountServiceAccountToken !== false
        ? [`service account ${metadata.name} mounts a token by default`]
        : [],
    ),
  ],

  'every service is deployed': ({ manifests, facts }) => {
    const deployed = servicesOf(manifests)
    return [...facts.variables.keys()]
      .filter((service) => !deployed.has(service))
      .map((service) => `${service} has no Deployment`)
  },

  'a service gets every variable that it reads, and no other': ({ manifests, facts }) =>
    [...environmentsOf(manifests)].flatMap(([service, env]) => findVariableProblems(service, env, facts)),

  'a service accepts the values that it gets': ({ manifests, overlay }) =>
    configProblems(
      new Map(
        [...environmentsOf(manifests)].map(([service, env]) => [
          service,
          withSecrets(overlay === 'trial' || service !== 'gateway' ? env : { ...env, SVC_TRUSTED_PROXIES: 'none' }),
        ]),
      ),
    ),

  'outside of a trial, the gateways do not start until the operator names their trusted proxies': ({
    manifests,
    overlay,
  }) => {
    if (overlay === 'trial') return []
    const env = withSecrets(environmentsOf(manifests).get('gateway') ?? {})
    const [problem = 'there is none'] = configProblems(new Map([['gateway', env]]))
    return problem.includes('SVC_TRUSTED_PROXIES has "to-be-set"') ? [] : [`the problem of the gateway: ${problem}`]
  },

  'services get the same values for the same variables': ({ manifests }) =>
    findDisagreements(environmentsOf(manifests)),

  'every secret is one of those that docs/operating/deploy.md lists, and none is in the manifests': ({
    manifests,
    facts,
  }) => [
    ...secretReferences(manifests)
      .filter((key) => !facts.secretKeys.has(key) && !OF_AUTHORITY.test(key.split('/')[0] ?? ''))
      .map((key) => `deploy/image does not generate the secret ${key}`),
    ...manifests
      .filter(({ kind }) => kind === 'Secret')
      .map(({ metadata }) => `Secret ${metadata.name} is in the manifests`),
  ],

  'a service gets only its own secrets, and only commands get those of owners and administrators': ({ manifests }) =>
    workloadsOf(manifests).flatMap((workload) => {
      const name = nameOf(workload.manifest)
      const isCommand = COMMANDS.has(workload.manifest.kind)
      const own = isCommand
        ? name
            .replace(/^migrate-(.*)$/, '$1-owner')
            .replace(/^roles-(.*)$/, '$1-roles')
            .replace('verify-books', 'admin')
            .replace(/^(backup|drill)$/, 'messaging-roles')
        : name
      return secretReferencesOf(workload)
        .map((key) => key.split('/')[0] ?? '')
        .filter(
          (secret) =>
            ![own, `${own}-tls`, `${own}-nats-tls`].includes(secret) || (!isCommand && OF_COMMANDS.test(secret)),
        )
        .map((secret) => `${name} has the secret ${secret}`)
    }),

  'the module that a container runs exists': ({ manifests }) =>
    workloadsOf(manifests).flatMap((workload) =>
      eachOf(workload, ({ image = '', args = [] }) =>
        /(^|\/)svc[:@]/.test(image) && !MODULES.includes(args[0] ?? '')
          ? [`runs ${args[0]}, which does not exist`]
          : [],
      ),
    ),

  'every service with a store has a migration': ({ manifests, facts }) =>
    [...facts.variables]
      .filter(([, { names }]) => names.includes('SVC_DATABASE_URL'))
      .filter(([store]) => !manifests.some((one) => one.kind === 'Job' && nameOf(one) === `migrate-${store}`))
      .map(([store]) => `${store} has no job that migrates it`),

  'outside of a trial, every image is named by digest': ({ manifests, overlay }) =>
    overlay === 'trial'
      ? []
      : eachContainer(manifests, ({ image = '' }) =>
          /@sha256:[0-9a-f]{64}$/.test(image) ? [] : [`runs ${image}, which has no digest`],
        ),

  'a process may wait for the longest migration before it is restarted, and a rollout waits for the process': ({
    manifests,
  }) => {
    const limits = manifests
      .filter((one) => one.kind === 'Job' && nameOf(one).startsWith('migrate-'))
      .map(({ spec }) => Number((spec as { activeDeadlineSeconds?: number }).activeDeadlineSeconds))
    return [...servicesOf(manifests).values()].flatMap((workload) =>
      eachOf(workload, ({ startupProbe: { periodSeconds = 10, failureThreshold = 3 } = {} }) => {
        const { progressDeadlineSeconds = 600 } = workload.manifest.spec as { progressDeadlineSeconds?: number }
        const starts = periodSeconds * failureThreshold
        return starts > Math.max(...limits) && progressDeadlineSeconds > starts
          ? []
          : [`has ${starts} s to start, its rollout ${progressDeadlineSeconds} s`]
      }),
    )
  },

  'a pod has enough time to drain': ({ manifests }) =>
    [...servicesOf(manifests).values()].flatMap((workload) =>
      eachOf(workload, ({ lifecycle }) => {
        const before = lifecycle?.preStop?.sleep?.seconds ?? 0
        const grace = workload.template.spec?.terminationGracePeriodSeconds ?? 30
        return [
          ...(before >= 5 ? [] : ['needs a preStop sleep of at least 5 s, so that clients learn of the stop first']),
          ...(grace >= before + DRAIN_LIMIT_MS / 1000 + 2 ? [] : [`is killed after ${grace} s, before it has drained`]),
        ]
      }),
    ),

  'every service scales, survives the drain of a node, and is spread over nodes': ({ manifests, overlay }) =>
    [...servicesOf(manifests)].flatMap(([service, workload]) => {
      const budget = manifests.find(({ kind, metadata }) => kind === 'PodDisruptionBudget' && metadata.name === service)
      const least = minReplicasOf(service, manifests)
      const update = (workload.manifest.spec as { strategy?: { rollingUpdate?: { maxUnavailable?: unknown } } })
        .strategy
      return [
        ...(least === undefined ? [`${service} has no autoscaler`] : []),
        ...(overlay !== 'trial' && (least ?? 2) < 2 ? [`${service} may run as a single process`] : []),
        ...((budget as unknown as IPodDisruptionBudget)?.spec?.maxUnavailable === 1
          ? []
          : [`${service} has no disruption budget`]),
        ...(update?.rollingUpdate?.maxUnavailable === 0
          ? []
          : [`an update of ${service} stops old processes before new ones are ready`]),
        ...((workload.template.spec?.topologySpreadConstraints ?? []).length >= 2
          ? []
          : [`${service} has fewer than two spread constraints`]),
        ...('replicas' in (workload.manifest.spec as object)
          ? [`${service} sets replicas, which overrides its autoscaler`]
          : []),
      ]
    }),

  'gateways and NATS servers must be spread over zones and nodes in production, and all others should be': ({
    manifests,
    overlay,
  }) =>
    workloadsOf(manifests)
      .filter(({ manifest }) => manifest.kind === 'Deployment' || manifest.metadata.name === 'nats')
      .flatMap(({ manifest: { metadata }, template }) => {
        const isRequired = overlay !== 'trial' && ['gateway', 'nats'].includes(metadata.name)
        const wanted = isRequired ? 'DoNotSchedule' : 'ScheduleAnyway'
        const found = (template.spec?.topologySpreadConstraints ?? []).map(
          ({ topologyKey, maxSkew, whenUnsatisfiable, nodeTaintsPolicy }) =>
            [topologyKey, maxSkew, whenUnsatisfiable, nodeTaintsPolicy].join(' '),
        )
        return ['topology.kubernetes.io/zone', 'kubernetes.io/hostname']
          .map((key) => `${key} 1 ${wanted} Honor`)
          .filter((rule) => !found.includes(rule))
          .map((rule) => `${metadata.name} is not spread by ${rule}`)
      }),

  'no two of three NATS servers run on one node in production': ({ manifests, overlay }) =>
    workloadsOf(manifests)
      .filter(({ manifest }) => overlay !== 'trial' && manifest.metadata.name === 'nats')
      .flatMap(({ manifest, template }) => {
        const { replicas } = manifest.spec as { replicas: number }
        const [, nodes] = template.spec?.topologySpreadConstraints ?? []
        return nodes?.minDomains === replicas ? [] : [`${replicas} servers may run on fewer nodes`]
      }),

  'every Service has addresses of both families where the cluster has both': ({ manifests }) =>
    manifests
      .filter(
        ({ kind, spec }) => kind === 'Service' && !/"ipFamilyPolicy":"PreferDualStack"/.test(JSON.stringify(spec)),
      )
      .map(({ metadata }) => `Service ${metadata.name} has one family`),

  'every connection that a pod needs is allowed by a policy': ({ manifests }) => {
    const policies = policiesOf(manifests)
    const closed = policies.some(
      ({ spec }) =>
        Object.keys(spec?.podSelector ?? { any: 1 }).length === 0 &&
        spec?.policyTypes?.join() === 'Ingress,Egress' &&
        !spec.ingress &&
        !spec.egress,
    )
    const own = new Set(policies.map(({ spec }) => spec?.podSelector?.matchLabels?.['app.kubernetes.io/name']))
    return [
      ...(closed ? [] : ['no policy denies all connections by default']),
      ...workloadsOf(manifests)
        .filter(({ manifest }) => manifest.kind !== 'Job' && !own.has(manifest.metadata.name))
        .map(({ manifest }) => `${manifest.metadata.name} has no policy`),
    ]
  },

  'only webhook reaches public addresses, and only on port 443': ({ manifests }) =>
    policiesOf(manifests).flatMap(({ metadata, spec }) =>
      (spec?.egress ?? []).flatMap(({ to = [], ports = [] }) => {
        const everywhere = to.length === 0 || to.some(({ ipBlock }) => /\/[0-8]$/.test(ipBlock?.cidr ?? ''))
        if (!everywhere) return []
        const webhook =
          metadata?.name === 'webhook' && to.length > 0 && to.every(({ ipBlock }) => (ipBlock?.except ?? []).length > 0)
        return webhook && ports.length === 1 && ports[0]?.port === 443
          ? []
          : [`${metadata?.name} allows connections to public addresses`]
      }),
    ),

  'every NATS server gets the passwords in a file, so that a reload finds changed ones': ({ manifests }) =>
    workloadsOf(manifests)
      .filter(({ manifest }) => manifest.metadata.name === 'nats')
      .flatMap((workload) =>
        eachOf(workload, ({ env = [] }) =>
          env
            .filter(({ name }) => /_PASSWORD(_B)?$/.test(name) && name !== 'SVC_NATS_ROUTE_PASSWORD')
            .map(({ name }) => `${name} is a variable`),
        ),
      ),

  'JetStream keeps one copy on each server': ({ manifests }) => {
    const nats = manifests.find(({ kind, metadata }) => kind === 'StatefulSet' && metadata.name === 'nats')
    const copies = environmentsOf(manifests).get('messaging')?.SVC_NATS_REPLICAS
    const servers = (nats?.spec as { replicas?: number } | undefined)?.replicas
    return nats === undefined || String(servers) === copies ? [] : [`${copies} copies on ${servers} servers`]
  },

  'NATS may fill three quarters of its volume, and the stream gets four fifths of that': ({ manifests }) => {
    const nats = workloadsOf(manifests).find(({ manifest }) => manifest.metadata.name === 'nats')
    if (nats === undefined) return []
    const { volumeClaimTemplates = [] } = nats.manifest.spec as {
      volumeClaimTemplates?: { spec: { resources: { requests: { storage: string } } } }[]
    }
    const [claim] = volumeClaimTemplates
    const volume = Number(/^(\d+)Gi$/.exec(claim?.spec.resources.requests.storage ?? '')?.[1]) * 1024 ** 3
    const stored = (volume * 3) / 4
    const limit = nats.containers.flatMap(({ env = [] }) => env).find(({ name }) => name === 'SVC_NATS_MAX_FILE_STORE')
    const bound = environmentsOf(manifests).get('messaging')?.SVC_STREAM_MAX_BYTES
    return [
      ...(Number(limit?.value) === stored ? [] : [`NATS may store ${limit?.value} bytes, and not ${stored}`]),
      ...(Number(bound) === (stored * 4) / 5
        ? []
        : [`the stream may have ${bound} bytes, and not ${(stored * 4) / 5}`]),
    ]
  },

  'our Postgres makes commits durable': ({ manifests }) =>
    workloadsOf(manifests)
      .filter(({ manifest }) => manifest.metadata.name === 'postgres')
      .flatMap((workload) =>
        eachOf(workload, ({ args = [] }) =>
          ['fsync=on', 'synchronous_commit=on', 'full_page_writes=on']
            .filter((setting) => !args.includes(setting))
            .map((setting) => `is not started with ${setting}`),
        ),
      ),

  'our Postgres accepts the connections of every service at its maximum, also during an update': ({ manifests }) => {
    const limit = connectionLimit(manifests)
    const wanted = connectionsAtMost(manifests) + KEPT_CONNECTIONS
    return limit === undefined || wanted <= limit
      ? []
      : [`max_connections is ${limit}, but ${wanted} connections may be opened`]
  },

  'no variable for tests is set': ({ manifests }) =>
    (JSON.stringify(manifests).match(/SVC_WEBHOOK_ALLOWED_PRIVATE_TARGETS|SVC_FAILPOINTS/g) ?? []).map(
      (name) => `${name} is set`,
    ),
} satisfies Record<string, Rule>

export type RuleName = keyof typeof RULES

export function environmentsOf(manifests: readonly Manifest[]): Map<string, Record<string, string>> {
  return new Map(
    [...servicesOf(manifests)].map(([service, { containers }]) => [
      service,
      Object.assign({}, ...containers.map((container) => environmentOf(container, manifests))),
    ]),
  )
}

/** A valid value for each secret file and each pod field. */
function withSecrets(env: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).map(([name, value]) => {
      const variable = name.replace(/_FILE$/, '')
      if (variable !== name) return [variable, placeholderFor(variable)]
      return [name, value === '<field>' ? '10.0.0.1' : value]
    }),
  )
}

function minReplicasOf(service: string, manifests: readonly Manifest[]): number | undefined {
  const scaler = manifests.find(
    ({ kind, metadata }) => ['HorizontalPodAutoscaler', 'ScaledObject'].includes(kind) && metadata.name === service,
  )
  const spec = scaler?.spec as (IHorizontalPodAutoscaler['spec'] & { minReplicaCount?: number }) | undefined
  return spec?.minReplicas ?? spec?.minReplicaCount
}

export function policiesOf(manifests: readonly Manifest[]): INetworkPolicy[] {
  return manifests.filter(({ kind }) => kind === 'NetworkPolicy') as unknown as INetworkPolicy[]
}

function secretReferences(manifests: readonly Manifest[]): string[] {
  return workloadsOf(manifests).flatMap(secretReferencesOf)
}

/** `<secret>/<key>` */
function secretReferencesOf({ template, containers }: Workload): string[] {
  const mounted = (template.spec?.volumes ?? []).flatMap(({ secret }) =>
    secret === undefined ? [] : (secret.items ?? [{ key: '' }]).map(({ key }) => `${secret.secretName}/${key}`),
  )
  const named = containers.flatMap(({ env = [] }) =>
    env.flatMap(({ valueFrom }) =>
      valueFrom?.secretKeyRef === undefined ? [] : [`${valueFrom.secretKeyRef.name}/${valueFrom.secretKeyRef.key}`],
    ),
  )
  return [...mounted, ...named]
}

type Pod = NonNullable<Workload['template']['spec']>
type Container = Workload['containers'][number]

function eachPod(manifests: readonly Manifest[], problemsOf: (pod: Pod) => string[]): string[] {
  return workloadsOf(manifests).flatMap(({ manifest, template }) =>
    problemsOf(template.spec ?? { containers: [] }).map(
      (problem) => `${manifest.kind} ${manifest.metadata.name} ${problem}`,
    ),
  )
}

function eachContainer(manifests: readonly Manifest[], problemsOf: (container: Container) => string[]): string[] {
  return workloadsOf(manifests).flatMap((workload) => eachOf(workload, problemsOf))
}

function eachOf({ manifest, containers }: Workload, problemsOf: (container: Container) => string[]): string[] {
  return containers.flatMap((container) =>
    problemsOf(container).map((problem) => `${manifest.kind} ${manifest.metadata.name} ${problem}`),
  )
}

function sameTarget(one: IProbe | undefined, other: IProbe | undefined): boolean {
  return (
    JSON.stringify([one?.httpGet, one?.exec, one?.tcpSocket]) ===
    JSON.stringify([other?.httpGet, other?.exec, other?.tcpSocket])
  )
}
