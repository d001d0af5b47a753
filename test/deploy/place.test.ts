import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SERVICE } from '@svc/contracts/limits.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Facts, ROOT, readFacts } from './facts.ts'
import { specOf } from './kubernetes/manifest-parts.ts'
import { environmentOf, OVERLAYS, renderCopy, renderOverlay, renderWith, servicesOf } from './kubernetes/render.ts'
import { RULES, type Rule } from './kubernetes/rules.ts'
import { findSchemaProblems } from './kubernetes/schema.ts'
import { PLACE_RULES } from './place-rules.ts'

const SUFFIX = `-${SERVICE.version.replaceAll('.', '-')}` // in release.yaml
type RuleName = keyof typeof PLACE_RULES
const NAMES = Object.keys(PLACE_RULES) as RuleName[]
let facts: Facts

beforeAll(() => {
  facts = readFacts()
})

describe.each(OVERLAYS)('overlay %s', (overlay) => {
  test.each(NAMES)('%s', (name) => {
    const rule: Rule = PLACE_RULES[name]
    expect(rule({ manifests: renderOverlay(overlay), overlay, facts })).toEqual([])
  })
})

const PLACE = {
  HOST: 'agents.test',
  TRUSTED_PROXIES: '192.0.2.0/28',
  EDGE_GATEWAY: 'shared',
  EDGE_NAMESPACE: 'edges',
  EDGE_LISTENER: 'tls',
  INGRESS_CLASS: 'internal',
  DATABASE_CIDR: '192.0.2.32/28',
  DATABASE_CIDR_B: 'fd00:20::/64',
  DATABASE_PORT: '6432',
  NATS_CIDR: '192.0.2.64/32',
  NATS_CIDR_B: 'fd00:30::4/128',
  NATS_PORT: '4333',
  PROMETHEUS: 'http://prometheus.test:9091',
  COLLECTOR_NAMESPACE: 'traces',
  COLLECTOR_PORT: '4319',
}

test('place.env, the namespace and the release are all that another cluster changes', async () => {
  const manifests = renderCopy('platform', (own, edit) => {
    const text = readFileSync(join(own, 'place/place.env'), 'utf8')
    expect([...text.matchAll(/^([A-Z_]+)=/gm)].map(([, name]) => name)).toEqual(Object.keys(PLACE))
    for (const [name, value] of Object.entries(PLACE))
      edit('place/place.env', RegExp(`^${name}=.*$`, 'gm'), `${name}=${value}`)
    edit('kustomization.yaml', /namespace: svc/g, 'namespace: agents')
    edit('kustomization.yaml', /components\/gateway-api/g, 'components/ingress')
    edit(
      'kustomization.yaml',
      /- \.\.\/\.\.\/components\/ingress/g,
      '- ../../components/ingress\n  - ../../components/gateway-api',
    )
    edit('namespace.yaml', /name: svc/g, 'name: agents')
    edit('release.yaml', RegExp(SUFFIX, 'g'), '-next')
  })
  const text = JSON.stringify(manifests)
  for (const value of Object.values(PLACE)) expect(text).toContain(value)
  expect(text).not.toContain(SUFFIX)
  expect(text).not.toMatch(
    /agents\.example\.org|10\.20\.|10\.30\.|2001:db8::\/128|"namespace":"svc"|prometheus-operated/,
  )
  expect(specOf(manifests, 'HTTPRoute', 'gateway')).toMatchObject({
    hostnames: ['agents.test'],
    parentRefs: [{ name: 'shared', namespace: 'edges', sectionName: 'tls' }],
  })
  expect(specOf(manifests, 'Ingress', 'gateway')).toMatchObject({
    ingressClassName: 'internal',
    rules: [{ host: 'agents.test' }],
    tls: [{ hosts: ['agents.test'] }],
  })
  expect(specOf(manifests, 'NetworkPolicy', 'to-external-nats').egress).toEqual([
    { to: [{ ipBlock: { cidr: '192.0.2.64/32' } }, { ipBlock: { cidr: 'fd00:30::4/128' } }], ports: [{ port: 4333 }] },
  ])
  expect(specOf(manifests, 'NetworkPolicy', 'to-external-databases').egress).toEqual([
    { to: [{ ipBlock: { cidr: '192.0.2.32/28' } }, { ipBlock: { cidr: 'fd00:20::/64' } }], ports: [{ port: 6432 }] },
  ])
  expect(specOf(manifests, 'NetworkPolicy', 'to-collector').egress).toEqual([
    {
      to: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'traces' } } }],
      ports: [{ port: 4319 }],
    },
  ])
  const rule: Rule = PLACE_RULES['autoscalers query only metrics of their own namespace, and an empty answer is no 0']
  expect(rule({ manifests, overlay: 'platform', facts })).toEqual([])
  expect(await findSchemaProblems(manifests)).toEqual([])
})

test('overlay platform runs no engine of ours, and every process has its certificates and the authority', () => {
  const manifests = renderOverlay('platform')
  expect(manifests.filter(({ kind }) => kind === 'StatefulSet')).toEqual([])
  for (const [service, { containers, template }] of servicesOf(manifests)) {
    const env = environmentOf(containers[0] ?? { name: '' }, manifests)
    expect(env).toMatchObject({
      SVC_NATS_CA_FILE: '/run/nats-tls/ca.crt',
      SVC_NATS_CERT_FILE: '/run/nats-tls/tls.crt',
      SVC_NATS_KEY_FILE: '/run/nats-tls/tls.key',
      NODE_EXTRA_CA_CERTS: '/run/ca/ca.crt',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.observability:4318',
    })
    const secrets = (template.spec?.volumes ?? []).flatMap(({ secret }) => secret?.secretName ?? [])
    expect(secrets).toEqual([service, `${service}-nats-tls`])
  }
})

test('the components that no overlay uses are valid, and pass the rules for pods', async () => {
  const manifests = renderWith([
    'ingress',
    'nats',
    'nats-tls',
    'nats-client-tls',
    'postgres',
    'database-roles',
    'ca-bundle',
  ])
  expect(await findSchemaProblems(manifests)).toEqual([])
  const pods: Rule = RULES['pods follow the restricted pod security standard, on a read-only root']
  expect(pods({ manifests, overlay: 'trial', facts })).toEqual([])
  const config = manifests.find(({ metadata }) => metadata.name.startsWith('nats-config-'))?.data as Record<
    string,
    string
  >
  expect([config['tls.conf'], config['routes-tls.conf']].join()).toMatch(/verify: true[\s\S]*cert_file/)
  const jobs = manifests.filter(({ kind }) => kind === 'Job')
  expect(jobs.filter((job) => !JSON.stringify(job).includes('/run/ca/ca.crt'))).toEqual([])
})

test('each patch of docs/operating/platform.md does what the page says', () => {
  const page = readFileSync(join(ROOT, 'docs/operating/platform.md'), 'utf8')
  const patches = [...page.matchAll(/ {2}```yaml\n([\s\S]*?) {2}```/g)].map(([, patch = '']) => patch)
  expect(patches).toHaveLength(4)
  const manifests = renderWith(['database-roles', 'monitoring'], `patches:\n${patches.join('')}`)
  const accounts = manifests.filter(({ kind }) => kind === 'ServiceAccount')
  expect(accounts.filter(({ imagePullSecrets }) => imagePullSecrets === undefined)).toEqual([])
  const selected = manifests.filter(({ kind }) => ['PodMonitor', 'PrometheusRule'].includes(kind))
  expect(selected.length).toBeGreaterThan(3)
  expect(selected.filter(({ metadata }) => metadata.labels?.release !== 'kube-prometheus-stack')).toEqual([])
  for (const [name, cidr] of [
    ['names', '169.254.20.10/32'],
    ['gateway', '10.40.0.0/24'],
  ] as const) {
    expect(JSON.stringify(specOf(manifests, 'NetworkPolicy', name))).toContain(cidr)
  }
})
