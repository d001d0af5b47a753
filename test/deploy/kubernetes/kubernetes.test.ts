import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { BlockList } from 'node:net'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { connectionsAtMost, KEPT_CONNECTIONS } from '../connections.ts'
import { type Facts, ROOT, readFacts } from '../facts.ts'
import {
  containerOf,
  type Fields,
  find,
  NotThere,
  podOf,
  remove,
  secretOf,
  settingsOf,
  specOf,
  variableOf,
  variablesOf,
} from './manifest-parts.ts'
import { prometheusRules, RULE_FILE } from './prometheus-rule.ts'
import { KUBERNETES, type Manifest, OVERLAYS, type Overlay, render } from './render.ts'
import { RULES, type Rule, type RuleName } from './rules.ts'
import { findSchemaProblems } from './schema.ts'

const NAMES = Object.keys(RULES) as RuleName[]
const rendered = new Map<Overlay, Manifest[]>()
let facts: Facts

beforeAll(() => {
  facts = readFacts()
  for (const overlay of OVERLAYS) rendered.set(overlay, render(`${KUBERNETES}/overlays/${overlay}`))
})

function check(name: RuleName, overlay: Overlay, spoil: (manifests: Manifest[]) => unknown = () => {}): string[] {
  const manifests = structuredClone(rendered.get(overlay) ?? [])
  spoil(manifests)
  const rule: Rule = RULES[name]
  return rule({ manifests, overlay, facts })
}

describe.each(OVERLAYS)('overlay %s', (overlay) => {
  test.each(NAMES)('%s', (name) => {
    expect(check(name, overlay)).toEqual([])
  })

  test('no two objects have the same name', () => {
    const names = (rendered.get(overlay) ?? []).map(({ kind, metadata }) => `${kind} ${metadata.name}`)
    expect(names.toSorted()).toEqual([...new Set(names)].toSorted())
  })
})

test('all are valid for Kubernetes 1.36, KEDA and the Prometheus operator, without unknown fields', async () => {
  expect(await findSchemaProblems([...rendered.values()].flat())).toEqual([])
})

test('the alerts are those of deploy/observability', () => {
  expect(readFileSync(RULE_FILE, 'utf8')).toBe(prometheusRules())
})

test('an unknown field and an invalid value are found', async () => {
  const manifests = structuredClone(rendered.get('trial') ?? []).filter(({ kind }) => kind === 'Deployment')
  containerOf(manifests, 'gateway').livenesProbe = {}
  specOf(manifests, 'Deployment', 'budget').replicas = 'two'
  const route = structuredClone((rendered.get('production') ?? []).filter(({ kind }) => kind === 'HTTPRoute'))
  Object.assign(specOf(route, 'HTTPRoute', 'gateway'), { hostname: 'x', hostnames: ['no host'] })
  manifests.push(...route)
  const problems = await findSchemaProblems(manifests)
  expect(problems.join('\n')).toMatch(/Deployment gateway: .*livenesProbe/)
  expect(problems.join('\n')).toMatch(/Deployment budget: data\/spec\/replicas must be integer/)
  expect(problems.join('\n')).toMatch(/HTTPRoute gateway: data\/spec\/hostnames\/0 must match/)
  expect(problems.join('\n')).toMatch(/HTTPRoute gateway: .*"hostname"' does not exist/)
})

test('spec 10.3: the network policy of webhook allows no block that its own rule refuses', () => {
  const file = join(ROOT, 'services/webhook/src/domain/special-purpose.ts')
  const print = 'import(process.argv[1]).then((rows) => console.log(JSON.stringify(Object.values(rows).flat())))'
  const rows = JSON.parse(execFileSync(process.execPath, ['-e', print, file], { encoding: 'utf8' })) as [
    string,
    boolean,
  ][]
  const [allowed, except] = [new BlockList(), new BlockList()]
  const add = (list: BlockList, cidr: string): void => {
    const [network = '', bits] = cidr.split('/')
    list.addSubnet(network, Number(bits), network.includes(':') ? 'ipv6' : 'ipv4')
  }
  const { egress } = specOf(rendered.get('production') ?? [], 'NetworkPolicy', 'webhook') as {
    egress: { to: { ipBlock?: { cidr: string; except: string[] } }[] }[]
  }
  for (const { ipBlock } of egress.flatMap(({ to }) => to)) {
    if (ipBlock === undefined) continue
    add(allowed, ipBlock.cidr)
    for (const cidr of ipBlock.except) add(except, cidr)
  }
  const refused = [...rows.filter(([, isPublic]) => !isPublic).map(([block]) => block), '224.0.0.0/4', 'ff00::/8']
  const reached = refused.filter((block) => {
    const [network = ''] = block.split('/')
    const family = network.includes(':') ? 'ipv6' : 'ipv4'
    return allowed.check(network, family) && !except.check(network, family)
  })
  expect(reached).toEqual([])
  expect([allowed.check('203.0.112.1') && !except.check('203.0.112.1'), rows.length > 20]).toEqual([true, true])
})

test("docs/operating/deploy.md has the number of connections that production's autoscalers may reach", () => {
  const connections = connectionsAtMost(rendered.get('production') ?? []) + KEPT_CONNECTIONS
  expect(readFileSync(join(ROOT, 'docs/operating/deploy.md'), 'utf8')).toContain(
    `\`max_connections\` of ${connections}`,
  )
})

/** Ways to break each rule. The check must find each. */
const BREAKAGES: Record<RuleName, ((manifests: Manifest[]) => unknown)[]> = {
  'every container has requests and limits': [
    (all) => delete containerOf(all, 'gateway').resources,
    (all) => delete (containerOf(all, 'nats').resources as { limits: Fields }).limits.memory,
  ],
  'every long-lived container has all three probes, and liveness differs from readiness': [
    (all) => delete containerOf(all, 'postgres').startupProbe,
    (all) => Object.assign(containerOf(all, 'budget'), { livenessProbe: containerOf(all, 'budget').readinessProbe }),
  ],
  'the probes of a service have the paths and the port of libs/telemetry': [
    (all) =>
      Object.assign(containerOf(all, 'stream'), { livenessProbe: { httpGet: { path: '/ready', port: 'metrics' } } }),
    (all) => Object.assign(variableOf(all, 'boards', 'SVC_METRICS_PORT'), { value: '9091' }),
  ],
  'pods follow the restricted pod security standard, on a read-only root': [
    (all) => delete (podOf(all, 'identity').securityContext as Fields).runAsNonRoot,
    (all) => delete (podOf(all, 'identity').securityContext as Fields).seccompProfile,
    (all) => Object.assign(podOf(all, 'messaging'), { hostNetwork: true }),
    (all) => Object.assign(podOf(all, 'messaging'), { volumes: [{ name: 'x', hostPath: { path: '/' } }] }),
    (all) => delete (containerOf(all, 'webhook').securityContext as Fields).readOnlyRootFilesystem,
    (all) => delete (containerOf(all, 'webhook').securityContext as Fields).capabilities,
    (all) =>
      Object.assign(containerOf(all, 'migrate-webhook').securityContext as Fields, { allowPrivilegeEscalation: true }),
    (all) => delete find(all, 'Namespace', 'svc').metadata.labels,
  ],
  'no pod has a token for the API server': [
    (all) => delete podOf(all, 'gateway').automountServiceAccountToken,
    (all) => Object.assign(podOf(all, 'gateway'), { serviceAccountName: 'other' }),
    (all) => Object.assign(find(all, 'ServiceAccount', 'boards'), { automountServiceAccountToken: true }),
  ],
  'every service is deployed': [(all) => remove(all, 'Deployment', 'boards')],
  'a service gets every variable that it reads, and no other': [
    (all) => variablesOf(all, 'gateway').push({ name: 'SVC_DATABASE_URL_FILE', value: 'x' }),
    (all) => variablesOf(all, 'webhook').push({ name: 'SVC_WEBHOOK_ALLOWED_PRIVATE_TARGETS', value: '10.0.0.1:443' }),
    (all) => variablesOf(all, 'identity').push({ name: 'SVC_CHALLENGE_KEY', value: 'x'.repeat(64) }),
    (all) => Object.assign(variableOf(all, 'messaging', 'SVC_RETENTION_DAYS'), { name: 'SVC_RETENTION' }),
    (all) => variablesOf(all, 'budget').pop(),
  ],
  'a service accepts the values that it gets': [
    (all) => Object.assign(settingsOf(all), { SVC_POW_DIFFICULTY: 'much' }),
    (all) => Object.assign(settingsOf(all), { SVC_WEBHOOK_BACKOFF_SECONDS: '0,30' }),
    (all) => delete settingsOf(all).SVC_STREAM_MAX_SECONDS,
  ],
  'outside of a trial, the gateways do not start until the operator names their trusted proxies': [
    (all) => Object.assign(settingsOf(all), { SVC_TRUSTED_PROXIES: '10.0.0.0/8' }),
    (all) => Object.assign(settingsOf(all), { SVC_TRUSTED_PROXIES: '' }),
  ],
  'services get the same values for the same variables': [
    (all) => Object.assign(variableOf(all, 'gateway', 'SVC_RETENTION_DAYS'), { valueFrom: undefined, value: '7' }),
  ],
  'every secret is one of those that docs/operating/deploy.md lists, and none is in the manifests': [
    (all) => secretOf(all, 'boards').items.push({ key: 'other', path: 'other' }),
    (all) => Object.assign(secretOf(all, 'boards'), { secretName: 'other' }),
    (all) => all.push({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'boards' }, data: {} }),
  ],
  'a service gets only its own secrets, and only commands get those of owners and administrators': [
    (all) => Object.assign(secretOf(all, 'boards'), { secretName: 'budget' }),
    (all) => Object.assign(secretOf(all, 'boards'), { secretName: 'boards-owner' }),
    (all) => Object.assign(secretOf(all, 'migrate-boards'), { secretName: 'boards-roles' }),
  ],
  'the module that a container runs exists': [
    (all) => Object.assign(containerOf(all, 'boards'), { args: ['board.js'] }),
  ],
  'every service with a store has a migration': [(all) => remove(all, 'Job', 'migrate-stream')],
  'outside of a trial, every image is named by digest': [
    (all) => Object.assign(containerOf(all, 'nats'), { image: 'nats:2.14' }),
    (all) => Object.assign(containerOf(all, 'boards'), { image: 'registry.example.org/svc:latest' }),
  ],
  'a pod has enough time to drain': [
    (all) => Object.assign(podOf(all, 'gateway'), { terminationGracePeriodSeconds: 25 }),
    (all) => delete containerOf(all, 'stream').lifecycle,
  ],
  'every service scales, survives the drain of a node, and is spread over nodes': [
    (all) => remove(all, 'HorizontalPodAutoscaler', 'gateway'),
    (all) => remove(all, 'ScaledObject', 'webhook'),
    (all) => Object.assign(specOf(all, 'HorizontalPodAutoscaler', 'boards'), { minReplicas: 1 }),
    (all) => remove(all, 'PodDisruptionBudget', 'gateway'),
    (all) => Object.assign(specOf(all, 'Deployment', 'gateway'), { strategy: { type: 'Recreate' } }),
    (all) => Object.assign(specOf(all, 'Deployment', 'gateway'), { replicas: 2 }),
    (all) => delete podOf(all, 'gateway').topologySpreadConstraints,
  ],
  'every connection that a pod needs is allowed by a policy': [
    (all) => remove(all, 'NetworkPolicy', 'default-deny'),
    (all) => remove(all, 'NetworkPolicy', 'nats'),
    (all) => Object.assign(specOf(all, 'NetworkPolicy', 'default-deny'), { egress: [{}] }),
  ],
  'only webhook reaches public addresses, and only on port 443': [
    (all) => Object.assign(specOf(all, 'NetworkPolicy', 'gateway'), { egress: [{}] }),
    (all) =>
      Object.assign(specOf(all, 'NetworkPolicy', 'budget'), { egress: [{ to: [{ ipBlock: { cidr: '0.0.0.0/0' } }] }] }),
    (all) => delete (specOf(all, 'NetworkPolicy', 'webhook').egress as Fields[])[0]?.ports,
    (all) =>
      Object.assign(specOf(all, 'NetworkPolicy', 'webhook'), {
        egress: [{ to: [{ ipBlock: { cidr: '::/0' } }], ports: [{ port: 443 }] }],
      }),
  ],
  'every NATS server gets the password of every login': [
    (all) => variablesOf(all, 'nats').pop() && variablesOf(all, 'nats').splice(3, 2),
  ],
  'JetStream keeps one copy on each server': [(all) => Object.assign(settingsOf(all), { SVC_NATS_REPLICAS: '5' })],
  'the stream gets three fifths of the volume of NATS': [
    (all) => Object.assign(settingsOf(all), { SVC_STREAM_MAX_BYTES: '6442450943' }),
  ],
  'our Postgres makes commits durable': [
    (all) =>
      Object.assign(containerOf(all, 'postgres'), {
        args: ['-c', 'fsync=on', '-c', 'synchronous_commit=off', '-c', 'full_page_writes=on'],
      }),
  ],
  'our Postgres accepts the connections of every service at its maximum, also during an update': [
    (all) => Object.assign(specOf(all, 'HorizontalPodAutoscaler', 'messaging'), { maxReplicas: 10 }),
    (all) => Object.assign(variableOf(all, 'stream', 'SVC_DATABASE_POOL'), { value: '40' }),
    (all) => remove(all, 'HorizontalPodAutoscaler', 'boards'),
    (all) => Object.assign(containerOf(all, 'postgres'), { args: ['-c', 'max_connections=100'] }),
  ],
  'no variable for tests is set': [(all) => Object.assign(settingsOf(all), { SVC_FAILPOINTS: 'x=kill' })],
}

describe('a broken rule is found', () => {
  const CASES = NAMES.flatMap((name) => BREAKAGES[name].map((spoil, index) => ({ name, way: index + 1, spoil })))
  test.each(CASES)('$name: way $way', ({ name, spoil }) => {
    // Skip an overlay without the rule's subject, because the rule cannot be broken in it.
    const problems = OVERLAYS.flatMap((overlay) => {
      try {
        return check(name, overlay, spoil)
      } catch (error) {
        if (error instanceof NotThere) return []
        throw error
      }
    })
    expect(problems).not.toEqual([])
  })
})
