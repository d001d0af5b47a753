import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { BlockList } from 'node:net'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { connectionsAtMost, KEPT_CONNECTIONS } from '../connections.ts'
import { type Facts, ROOT, readFacts } from '../facts.ts'
import { containerOf, specOf } from './manifest-parts.ts'
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

describe.each(OVERLAYS)('overlay %s', (overlay) => {
  test.each(NAMES)('%s', (name) => {
    const rule: Rule = RULES[name]
    expect(rule({ manifests: rendered.get(overlay) ?? [], overlay, facts })).toEqual([])
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
  const file = join(ROOT, 'libs/outbound/src/special-purpose.ts')
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
  // NAT64 reaches the IPv4 address at the end (RFC 6052).
  refused.push(...refused.filter((block) => !block.includes(':')).map((block) => `64:ff9b::${block}`))
  const reached = refused.filter((block) => {
    const [network = ''] = block.split('/')
    const family = network.includes(':') ? 'ipv6' : 'ipv4'
    return allowed.check(network, family) && !except.check(network, family)
  })
  expect(reached).toEqual([])
  for (const [address, family] of [
    ['203.0.112.1', 'ipv4'],
    ['64:ff9b::203.0.112.1', 'ipv6'],
    ['2a00::1', 'ipv6'],
  ] as const)
    expect([address, allowed.check(address, family) && !except.check(address, family)]).toEqual([address, true])
  expect(rows.length).toBeGreaterThan(20)
})

test("docs/operating/deploy.md has the number of connections that production's autoscalers may reach", () => {
  const connections = connectionsAtMost(rendered.get('production') ?? []) + KEPT_CONNECTIONS
  expect(readFileSync(join(ROOT, 'docs/operating/deploy.md'), 'utf8')).toContain(
    `\`max_connections\` of ${connections}`,
  )
})
