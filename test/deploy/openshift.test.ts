/** components/openshift: a copy of overlays/production that uses it in place of gateway-api. */
import { beforeAll, expect, test } from 'vitest'
import { type Facts, readFacts } from './facts.ts'
import { find, specOf } from './kubernetes/manifest-parts.ts'
import { type Manifest, renderCopy, renderWith, workloadsOf } from './kubernetes/render.ts'
import { RULES, type Rule } from './kubernetes/rules.ts'
import { findSchemaProblems } from './kubernetes/schema.ts'
import { PLACE_RULES } from './place-rules.ts'

let facts: Facts
let manifests: Manifest[]

beforeAll(() => {
  facts = readFacts()
  manifests = renderCopy('production', (_folder, edit) => {
    edit('kustomization.yaml', /.*gateway-api\n/g, '')
    edit('kustomization.yaml', / +# Last, /g, '  - ../../components/openshift\n$&')
    edit('place/place.env', /^HOST=.*$/gm, 'HOST=agents.test')
  })
})

test('no Deployment, StatefulSet, Job or CronJob has a fixed user or group', () => {
  const all = renderWith(['nats', 'nats-tls', 'postgres', 'database-roles', 'verify', 'ca-bundle', 'openshift'])
  const kinds = new Set(workloadsOf(all).map(({ manifest }) => manifest.kind))
  expect([...kinds].toSorted()).toEqual(['CronJob', 'Deployment', 'Job', 'StatefulSet'])
  expect(JSON.stringify([all, manifests])).not.toMatch(/"(runAsUser|runAsGroup|fsGroup|supplementalGroups)"/)
})

test.each([
  ['pods follow the restricted pod security standard, on a read-only root', RULES],
  ['every container has requests and limits', RULES],
  ['every connection that a pod needs is allowed by a policy', RULES],
  ['outside of a trial, the gateways do not start until the operator names their trusted proxies', RULES],
  ['outside of a trial, one edge serves the public host and changes nothing that clients signed', PLACE_RULES],
] as [string, Record<string, Rule>][])('%s', (name, rules) => {
  expect(rules[name]?.({ manifests, overlay: 'production', facts })).toEqual([])
})

test('all objects but the Route have valid fields', async () => {
  expect(await findSchemaProblems(manifests.filter(({ kind }) => kind !== 'Route'))).toEqual([])
})

test('the Route leads the public host to the port of the gateway', () => {
  const route = find(manifests, 'Route', 'gateway')
  expect(route).toMatchObject({
    apiVersion: 'route.openshift.io/v1',
    spec: { host: 'agents.test', to: { kind: 'Service', name: 'gateway' }, port: { targetPort: 'http' } },
  })
  const { ports } = specOf(manifests, 'Service', 'gateway') as { ports: { name: string }[] }
  expect(ports.map(({ name }) => name)).toContain('http')
})

test('policies let the router in, and names are asked of OpenShift’s DNS', () => {
  expect(specOf(manifests, 'NetworkPolicy', 'gateway').ingress).toMatchObject([
    { from: [{ namespaceSelector: { matchLabels: { 'policy-group.network.openshift.io/ingress': '' } } }] },
    { from: [{ namespaceSelector: { matchLabels: { 'svc.example.org/monitoring': 'true' } } }] },
  ])
  const { egress } = specOf(manifests, 'NetworkPolicy', 'names') as { egress: { ports: { port: number }[] }[] }
  expect(egress).toHaveLength(1)
  expect(egress[0]?.ports.map(({ port }) => port)).toEqual([5353, 5353])
  expect(JSON.stringify(egress)).toContain('"kubernetes.io/metadata.name":"openshift-dns"')
})
