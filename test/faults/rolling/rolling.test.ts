/**
 * An upgrade without downtime. Migrations run first. Then every process of every service restarts, one after another, under
 * load. Each request must get the right answer, and each stream must close with a last cursor.
 *
 * The migrations are of the allowed kind, which both old and new code work with: a column, a table and an index in each
 * store. The test shows that they hold no lock for a noticeable time, that processes keep working with their connections
 * and prepared statements on changed tables, and that any half of a service can be replaced. All processes run the
 * code of this tree, so the test does not show whether an older release works with this one; `npx pnpm faults:upgrade`
 * does.
 *
 * Before the restarts, the logins of all processes for NATS and Postgres change while they run. The restarts change the keys of
 * challenges and of webhook secrets (docs/operating/rotate.md).
 */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { appendFileSync, chmodSync, cpSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { SERVICES, type ServiceName, STORES, type StoreName } from '@svc/local/topology.ts'
import { migrate } from '@svc/postgres/migration/migrate.ts'
import { readSchemaFiles } from '@svc/postgres/migration/schema-files.ts'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../support/engines/database.ts'
import { startTestNats } from '../../support/engines/engines.ts'
import { eventually } from '../../support/eventually.ts'
import { startReceiver, type WebhookReceiver } from '../../support/stand-ins/webhook-receiver.ts'
import { type Harness, startHarness } from '../../support/system/harness.ts'
import { type RollingLoad, rollingSystem, startRollingLoad } from './load.ts'

/** Number of answers between two restarts. */
const ANSWERS = process.env.SVC_FAULTS === 'long' ? 400 : 12
/** Without this pause, hundreds of requests a second would run during every restart. Other tests need the machine as well. */
const PAUSE_MS = process.env.SVC_FAULTS === 'long' ? 0 : 200

/** The level of pino's warnings. */
const WARN = 40

/** One table of each store, which most requests use. */
const BUSY_TABLE: Record<StoreName, string> = {
  budget: 'accounts',
  boards: 'boards',
  webhook: 'endpoints',
  messaging: 'messages',
  identity: 'agents',
  stream: 'leases',
}

/** The keys that may be lists, each with an old and a new one. */
const [OLD_KEY, NEW_KEY] = [randomBytes(32).toString('hex'), randomBytes(32).toString('hex')]
const KEY_OF: Partial<Record<ServiceName, string>> = {
  identity: 'SVC_CHALLENGE_KEY',
  webhook: 'SVC_WEBHOOK_SECRET_KEY',
}
const keysOf = (service: ServiceName, ...keys: string[]): NodeJS.ProcessEnv => {
  const variable = KEY_OF[service]
  return variable === undefined ? {} : { [variable]: keys.join() }
}

let h: Harness
let load: RollingLoad
let receiver: WebhookReceiver
let secrets: string
beforeAll(async () => {
  receiver = await startReceiver()
  secrets = mkdtempSync(join(tmpdir(), 'svc-secrets-'))
  chmodSync(secrets, 0o755)
  const urlFiles = (service: ServiceName): NodeJS.ProcessEnv => ({
    SVC_NATS_URL: undefined,
    SVC_NATS_URL_FILE: join(secrets, service, 'nats-url'),
    ...(storeOf(service) === undefined
      ? {}
      : { SVC_DATABASE_URL: undefined, SVC_DATABASE_URL_FILE: join(secrets, service, 'database-url') }),
  })
  const database = await createTestDatabase(STORES)
  const nats = await startTestNats()
  for (const service of SERVICES) {
    const store = storeOf(service)
    putSecret(service, 'nats-url', nats.urlFor(service))
    if (store !== undefined) putSecret(service, 'database-url', database.urlFor(store))
  }
  h = await startHarness({
    database,
    nats,
    // This process is also the balancer. It may be late to notice that a gateway is no longer ready.
    env: {
      SVC_DRAIN_SECONDS: '8',
      SVC_DAILY_FREE_UNITS: '10000000',
      SVC_DAILY_HARD_LIMIT: '10000000',
      SVC_WEBHOOK_ALLOWED_PRIVATE_TARGETS: receiver.host,
      NODE_EXTRA_CA_CERTS: receiver.caFile,
    },
    envOf: Object.fromEntries(
      SERVICES.flatMap((service) =>
        [1, 2].map((index) => [`${service}-${index}`, { ...urlFiles(service), ...keysOf(service, OLD_KEY, NEW_KEY) }]),
      ),
    ),
  })
  load = await startRollingLoad(rollingSystem(h), { pauseMs: PAUSE_MS, receiver })
})
afterAll(async () => {
  await load?.[Symbol.asyncDispose]()
  await removeSecondLogins()
  await h?.[Symbol.asyncDispose]()
  await receiver?.[Symbol.asyncDispose]()
  if (secrets !== undefined) rmSync(secrets, { recursive: true })
})

function storeOf(service: ServiceName): StoreName | undefined {
  return STORES.find((one) => one === service)
}

/** Replaces a key of a Secret in one step, as Kubernetes does for a mounted Secret. */
function putSecret(service: ServiceName, key: string, text: string): void {
  const path = join(secrets, service, key)
  mkdirSync(join(secrets, service), { recursive: true })
  writeFileSync(`${path}.new`, text)
  renameSync(`${path}.new`, path)
}

/** The SQL of a store with one more numbered file, and with a changed text in every function. */
function withOneMore(store: StoreName): string {
  const dir = mkdtempSync(join(tmpdir(), `svc-database-${store}-`))
  cpSync(fileURLToPath(new URL(`../../../services/${store}/database`, import.meta.url)), dir, { recursive: true })
  const table = `${store}.${BUSY_TABLE[store]}`
  const statements = [
    `alter table ${table} add column added_later text not null default ''`,
    `create table ${store}.added_later (id bigint primary key)`,
    `create index on ${table} (added_later)`,
    `grant select, insert on ${store}.added_later to ${store}`,
  ]
  writeFileSync(join(dir, 'tables/9999_added-later.sql'), `${statements.join(';\n')};\n`)
  for (const { name } of readSchemaFiles(dir, store).functions) {
    appendFileSync(join(dir, 'functions', `${name}.sql`), '-- Of the next release.\n')
  }
  return dir
}

/** The second login of each store (docs/operating/rotate.md). Roles belong to the whole server, so no other test uses these names. */
const SECOND_LOGINS = new Map<StoreName, URL>()

function secondLoginOf(store: StoreName): URL {
  const url = new URL(h.system.database.urlFor(store))
  url.username = `${store}_${randomBytes(4).toString('hex')}`
  url.password = `n${randomBytes(24).toString('hex')}`
  return url
}

/** Runs the job that creates roles, with a second login. The owner's password does not change. */
async function makeLogin(store: StoreName, { username, password }: URL): Promise<void> {
  const { database } = h.system
  await promisify(execFile)(process.execPath, ['deploy/image/src/roles.ts', store], {
    cwd: fileURLToPath(new URL('../../..', import.meta.url)),
    env: {
      SVC_DATABASE_URL: database.adminUrl,
      SVC_DATABASE_LOGIN: username,
      SVC_DATABASE_PASSWORD: password,
      SVC_DATABASE_OWNER_PASSWORD: decodeURIComponent(new URL(database.urlFor(`${store}_owner`)).password),
    },
  })
}

async function removeSecondLogins(): Promise<void> {
  if (SECOND_LOGINS.size === 0) return
  const admin = postgres(h.system.database.adminUrl, { max: 1, onnotice: () => {} })
  for (const { username } of SECOND_LOGINS.values()) await admin`drop role ${admin(username)}`
  await admin.end()
}

test('each store is migrated under load', { timeout: 120_000 }, async () => {
  await load.more(ANSWERS)
  for (const store of STORES) {
    const dir = withOneMore(store)
    try {
      await migrate({ url: h.system.database.urlFor(`${store}_owner`), schema: store, dir })
    } finally {
      rmSync(dir, { recursive: true })
    }
    await load.more(ANSWERS)
  }
  expectNothingWrong()
})

test('the logins of all processes change while they run', { timeout: 180_000 }, async () => {
  const pids = [...h.system.processes.values()].map(({ pid }) => pid)
  const logged = (text: string, names = [...h.system.processes.keys()]) =>
    eventually(
      () => names.every((name) => h.system.processes.get(name)?.log.some(({ message }) => message.includes(text))),
      { timeoutMs: 60_000, what: `a log line "${text}" of ${names.join()}` },
    )
  await load.more(ANSWERS)
  // Too early, and with an error: the servers do not know these logins yet.
  for (const service of SERVICES) {
    const store = storeOf(service)
    const natsUrl = new URL(h.system.nats.urlFor(`${service}_b`))
    natsUrl.password = 'wrong'
    putSecret(service, 'nats-url', natsUrl.href)
    if (store === undefined) continue
    SECOND_LOGINS.set(store, secondLoginOf(store))
    putSecret(service, 'database-url', SECOND_LOGINS.get(store)?.href ?? '')
  }
  await logged('refuses the login in SVC_NATS_URL_FILE')
  await logged(
    'refuses the login in SVC_DATABASE_URL',
    STORES.flatMap((store) => [`${store}-1`, `${store}-2`]),
  )
  await load.more(ANSWERS)
  expectNothingWrong()
  for (const service of SERVICES) putSecret(service, 'nats-url', h.system.nats.urlFor(`${service}_b`))
  for (const [store, url] of SECOND_LOGINS) await makeLogin(store, url)
  await logged('nats: uses the new login')
  await eventually(async () => (await databaseLogins()).join() === secondLogins().join(), { timeoutMs: 60_000 })
  await load.more(ANSWERS)
  expectNothingWrong()
  expect([...h.system.processes.values()].map(({ pid }) => pid)).toEqual(pids)
})

/** The logins that processes use now. */
async function databaseLogins(): Promise<string[]> {
  const admin = postgres(h.system.database.adminUrl, { max: 1, onnotice: () => {} })
  try {
    const rows = await admin<{ login: string }[]>`
      select distinct usename as login from pg_stat_activity
      where datname = current_database() and application_name like 'svc-%'`
    return rows.map(({ login }) => login).toSorted()
  } finally {
    await admin.end()
  }
}

function secondLogins(): string[] {
  return [...SECOND_LOGINS.values()].map(({ username }) => username).toSorted()
}

describe('during a rolling restart every request gets the right answer', () => {
  test.each(SERVICES)('of %s', { timeout: 180_000 }, async (service) => {
    await load.more(ANSWERS)
    await restart(service, keysOf(service, NEW_KEY, OLD_KEY))
    expectNothingWrong()
  })

  test('without the old keys', { timeout: 180_000 }, async () => {
    const isSealed = (): boolean =>
      [...h.system.processes.values()].some(({ log }) =>
        log.some(({ message }) => message === 'secrets sealed with the present key'),
      )
    await eventually(isSealed, { timeoutMs: 90_000, what: 'the secrets of webhooks are sealed with the new key' })
    for (const service of ['identity', 'webhook'] as const) await restart(service, keysOf(service, NEW_KEY))
    expectNothingWrong()
  })

  test('afterwards no connection uses the first login of a database', async () => {
    expect(await databaseLogins()).toEqual(secondLogins())
  })

  test('afterwards nothing is lost, repeated or out of order', { timeout: 120_000 }, async () => {
    expectNothingWrong(await load.finish())
  })
})

/** @throws Error with everything that is wrong, and with what the processes said of it. */
function expectNothingWrong(wrong: readonly string[] = load.wrong): void {
  if (wrong.length === 0) return
  const said = [...h.system.processes].flatMap(([name, { log }]) =>
    log.filter(({ level }) => level >= WARN).map((event) => `${name}: ${JSON.stringify(event)}`),
  )
  throw new Error([...wrong, ...said].join('\n'))
}

async function restart(service: ServiceName, env: NodeJS.ProcessEnv): Promise<void> {
  // Registrations use the key of challenges. They do not go through the balancer, so they cannot go on while gateways restart.
  const registering = service === 'identity' ? registerAgents() : undefined
  for (const name of [`${service}-1`, `${service}-2`]) {
    expect(await h.system.processes.get(name)?.stop()).toEqual({ code: 0, reason: 'exit code 0' })
    await load.more(ANSWERS)
    await h.system.start(name, env)
    await load.allReady()
    await load.more(ANSWERS)
  }
  expect(await registering?.stop()).not.toBe(0)
}

/** Registers agents, one after another, until it is stopped. `stop` throws if a registration failed. */
function registerAgents(): { stop: () => Promise<number> } {
  let stopped = false
  const work = (async () => {
    let registered = 0
    for (; !stopped; registered += 1) await h.agents(1)
    return registered
  })()
  work.catch(() => {}) // reported by `stop`
  return {
    stop: () => {
      stopped = true
      return work
    },
  }
}
