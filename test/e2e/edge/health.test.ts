/** The gateways' answers while parts of the system are dead, frozen or unreachable, and after their recovery. */
import { type ServiceName, STORES, type StoreName } from '@svc/local/topology.ts'
import postgres from 'postgres'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { type Agent, call, type HttpAnswer } from '../../support/client/agent.ts'
import { expectError, expectStamped } from '../../support/client/expect-answer.ts'
import { draft, send } from '../../support/client/signed-request.ts'
import { bodyTextOf, OPERATIONS, type SpecOperation, targetOf } from '../../support/description/operations.ts'
import { eventually } from '../../support/eventually.ts'
import { startTcpProxy, type TcpProxy } from '../../support/stand-ins/tcp-proxy.ts'
import { type Harness, startHarness } from '../../support/system/harness.ts'

/** spec 3.17: 503 within 5 s, and never a hang. */
const ANSWER_LIMIT_MS = 5_000
/** A call takes less than this if nothing listens, because the connection is refused at once. */
const REFUSAL_LIMIT_MS = 2_500
/** A 503 that takes longer than this has waited for a service. */
const WAITED_MS = 900
const ATTEMPTS = 4

// Includes retries, and the time that a busy machine needs to recover.
vi.setConfig({ testTimeout: 180_000 })

let h: Harness
let alice: Agent
/** Proxies between each store and Postgres, because other tests use Postgres at the same time. */
let proxies: Map<string, TcpProxy>

beforeAll(async () => {
  proxies = new Map(await Promise.all(STORES.map(async (store) => [store, await startTcpProxy()] as const)))
  // the database user of a store has the store's name
  h = await startHarness({
    databaseUrl: (url) => proxyOf(new URL(url).username).through(url),
    // alice sends a message to herself each time a test calls every operation
    env: { SVC_DAILY_FREE_UNITS: '100000', SVC_DAILY_HARD_LIMIT: '100000' },
  })
  const [first] = await h.agents(1)
  if (first === undefined) throw new Error('one agent is needed')
  alice = first
  return async () => {
    await h[Symbol.asyncDispose]()
    for (const proxy of proxies.values()) await proxy[Symbol.asyncDispose]()
  }
})

function proxyOf(store: string): TcpProxy {
  const proxy = proxies.get(store)
  if (proxy === undefined) throw new Error(`there is no store ${store}`)
  return proxy
}

/** Cuts these stores off from their database, until disposal. */
async function cut(stores: readonly StoreName[]): Promise<AsyncDisposable> {
  await Promise.all(stores.map((store) => proxyOf(store).cut()))
  return { [Symbol.asyncDispose]: async () => void (await Promise.all(stores.map((store) => proxyOf(store).mend()))) }
}

function health(url: string): Promise<HttpAnswer> {
  return call({ ...h.place, url }, 'GET', '/v2/health')
}

async function expectUnhealthy(): Promise<void> {
  for (const url of h.system.urls) {
    // gateways share health answers for a moment, so an older answer may come first
    const answer = await eventually(async () => {
      const latest = await within(ANSWER_LIMIT_MS, () => health(url))
      return latest.status === 503 && latest
    })
    // A failed health check has its own kind of body (spec 5.2).
    expect(answer.body).toEqual({ status: 'unavailable', service: 'signed-agent-messaging', version: '2.0.0' })
    expectStamped(answer)
  }
}

/** Checks that every gateway is healthy and every operation works. */
async function expectRecovery(): Promise<void> {
  // wait for health first, because calling every operation takes fifty requests
  for (const url of h.system.urls) await eventually(async () => (await health(url)).status === 200)
  const usual = Object.fromEntries(OPERATIONS.map((one) => [nameOf(one), USUAL[nameOf(one)] ?? '200']))
  await eventually(async () => expect(await answersOfAll({ goesOn: () => true })).toEqual(usual))
}

function nameOf({ method, path }: SpecOperation): string {
  return `${method} ${path}`
}

/** The answers that are not 200 in a healthy system. */
const USUAL: Record<string, string> = {
  'POST /v2/challenges': '201',
  'POST /v2/agents/register': '400 challenge_invalid',
  'GET /v2/agents/{name}': '404 not_found',
  'POST /v2/me/revoke': '400 confirmation_mismatch',
  'PUT /v2/contacts/{agent}': '404 not_found',
  'POST /v2/messages': '202',
  'GET /v2/messages/{id}': '404 not_found',
  'POST /v2/messages/{id}/ack': '404 not_found',
  'GET /v2/messages/{id}/receipts': '404 not_found',
  'POST /v2/boards': '400 invalid_request',
  'GET /v2/boards/{board}': '404 not_found',
  'GET /v2/boards/{board}/members': '404 not_found',
  'PUT /v2/boards/{board}/members/{agent}': '404 not_found',
  'GET /v2/boards/{board}/messages': '404 not_found',
  'PUT /v2/boards/{board}/messages/{id}/visibility': '404 not_found',
  'PUT /v2/messages/{id}/vote': '404 not_found',
  'DELETE /v2/messages/{id}/vote': '404 not_found',
  'PUT /v2/webhook': '400 invalid_webhook_url',
  'GET /v2/webhook': '404 not_found',
  'DELETE /v2/webhook': '404 not_found',
}

const WITHOUT_MESSAGING = [
  'GET /.well-known/agent.json',
  'POST /v2/challenges',
  'POST /v2/agents/register',
  'GET /v2/agents',
  'GET /v2/agents/{name}',
  'GET /v2/me',
  'PATCH /v2/me',
  'POST /v2/me/revoke',
  'GET /v2/budget',
  'PUT /v2/contacts/{agent}', // no agent has this id
  'POST /v2/boards',
  'GET /v2/boards',
  'GET /v2/boards/{board}',
  'GET /v2/boards/{board}/members',
  'GET /v2/webhook',
  'DELETE /v2/webhook',
]
const NEEDS_BOARDS = ['GET /v2/health', ...OPERATIONS.map(nameOf).filter((name) => name.includes('/v2/boards'))]
/** The form of a new board is checked before any lookup. */
const NEEDS_TABLES_OF_BOARDS = NEEDS_BOARDS.filter((name) => name !== 'POST /v2/boards')
/** For an unknown board these operations ask only the boards service. */
const JUDGED_FIRST = ['GET /v2/boards/{board}/messages', 'PUT /v2/boards/{board}/messages/{id}/visibility']
const NEEDS_WEBHOOK = ['GET /v2/health', ...OPERATIONS.map(nameOf).filter((name) => name.includes('/v2/webhook'))]
/** A URL is checked before any lookup. */
const NEEDS_TABLES_OF_WEBHOOK = NEEDS_WEBHOOK.filter((name) => name !== 'PUT /v2/webhook')
const NEEDS_STREAM = ['GET /v2/health', 'GET /v2/stream']
const NEEDS_BUDGET = ['GET /v2/health', 'GET /v2/budget', 'POST /v2/messages']

let round = 0

interface Expected {
  /** The operations that must not answer 503. */
  readonly goesOn: (name: string) => boolean
  readonly limitMs?: number
}

/** Calls every operation at once, signed. Half of the calls go to each gateway; the next time, each goes to the other gateway. */
async function answersOfAll({ goesOn, limitMs = ANSWER_LIMIT_MS }: Expected): Promise<Record<string, string>> {
  round += 1
  const answers = await Promise.all(
    OPERATIONS.map(async (operation, at) => {
      const url = h.system.urls[(at + round) % h.system.urls.length] ?? ''
      const ask = () => within(limitMs, () => send(draftOf(operation, url)), goesOn(nameOf(operation)))
      let answer = await ask()
      // The streams of earlier rounds are closed, but the stream service may not have noticed yet.
      while (answer.body?.error?.code === 'stream_limit') answer = await ask()
      expectStamped(answer)
      const { status, body } = answer
      expect(status, nameOf(operation)).not.toBe(500)
      if (status === 503 && operation.path !== '/v2/health') expectError(answer, 503, 'unavailable')
      const outcome = [status, body?.error?.code].join(' ').trim()
      return [nameOf(operation), outcome] as const
    }),
  )
  return Object.fromEntries(answers)
}

function draftOf(operation: SpecOperation, url: string) {
  const text =
    operation.path === '/v2/messages' && operation.method === 'POST'
      ? JSON.stringify(alice.envelope(alice))
      : bodyTextOf(operation)
  const body = text?.replace(/"ed25519:[0-9a-f]{64}"/, JSON.stringify(alice.pubkey))
  return draft(alice, { method: operation.method, target: targetOf(operation), body, url })
}

/**
 * Retries if the answer was late, or if a running service did not answer. On a busy machine that happens occasionally; a
 * real fault happens every time.
 */
async function within(limitMs: number, ask: () => Promise<HttpAnswer>, goesOn = false): Promise<HttpAnswer> {
  for (let attempt = 1; ; attempt += 1) {
    const since = performance.now()
    const answer = await ask()
    const tookMs = performance.now() - since
    const isLate = tookMs >= limitMs || (goesOn && answer.status === 503 && tookMs >= WAITED_MS)
    if (isLate && attempt < ATTEMPTS) continue
    expect(tookMs).toBeLessThan(limitMs)
    return answer
  }
}

/** Checks that these operations do not answer 503, and all others do. */
async function expectAvailable(goesOn: Expected['goesOn'], limitMs = ANSWER_LIMIT_MS): Promise<void> {
  const answers = await answersOfAll({ goesOn, limitMs })
  const available = Object.keys(answers).filter((name) => answers[name]?.startsWith('503') !== true)
  expect(available).toEqual(OPERATIONS.map(nameOf).filter(goesOn))
}

const nothing = (): boolean => false

/** Waits until one of these processes has logged the request id that the client got. */
async function untilLogged({ headers }: HttpAnswer, names: readonly string[]): Promise<void> {
  const id = headers.get('x-request-id')
  const logs = names.map((name) => h.system.processes.get(name)?.log ?? [])
  await eventually(() => logs.flat().some(({ fields }) => fields.request_id === id))
}

async function killAll(service: ServiceName): Promise<AsyncDisposable> {
  const names = [...h.system.processes.keys()].filter((name) => name.startsWith(`${service}-`))
  await Promise.all(names.map((name) => h.system.kill(name)))
  return { [Symbol.asyncDispose]: async () => void (await Promise.all(names.map((name) => h.system.start(name)))) }
}

/** Freezes all processes of these services: they run, but do not answer. */
function freeze(services: readonly ServiceName[]): Disposable {
  const pids = [...h.system.processes.values()].flatMap(({ name, pid }) =>
    services.some((service) => name.startsWith(`${service}-`)) && pid !== undefined ? [pid] : [],
  )
  for (const pid of pids) process.kill(pid, 'SIGSTOP')
  return { [Symbol.dispose]: () => void pids.map((pid) => process.kill(pid, 'SIGCONT')) }
}

function openAdmin(database: string): AsyncDisposable & { sql: postgres.Sql } {
  const url = new URL(h.system.database.adminUrl)
  url.pathname = `/${database}`
  const sql = postgres(url.href, { max: 1, onnotice: () => {} })
  return { sql, [Symbol.asyncDispose]: () => sql.end({ timeout: 5 }) }
}

/** Ends every connection to this system's database and refuses new ones, until disposal. */
async function closeDatabase(): Promise<AsyncDisposable> {
  const name = new URL(h.system.database.adminUrl).pathname.slice(1)
  const admin = openAdmin('postgres')
  {
    await using _cut = await cut(STORES)
    await admin.sql`alter database ${admin.sql(name)} with allow_connections false`
  }
  return {
    async [Symbol.asyncDispose]() {
      await admin.sql`alter database ${admin.sql(name)} with allow_connections true`
      await admin[Symbol.asyncDispose]()
    },
  }
}

describe('spec 5.2, 12.1: GET /v2/health', () => {
  test('spec 5.2: 200 with status ok, service and version, at every gateway, signed or not', async () => {
    const body = { status: 'ok', service: 'signed-agent-messaging', version: '2.0.0' }
    for (const url of h.system.urls) {
      for (const ask of [() => health(url), () => alice.get('/v2/health', { url })])
        expect(await within(ANSWER_LIMIT_MS, ask, true)).toMatchObject({ status: 200, body })
    }
  })

  test('in a healthy system every operation is answered as the rest of this file expects, at both gateways', async () => {
    await expectRecovery()
    await expectRecovery()
  })
})

describe('spec 3.17: with a part of the system gone, 503 unavailable within 5 s and never a hang', () => {
  test('one process of each service is enough', async () => {
    const names = ['identity-1', 'messaging-1', 'boards-1', 'budget-1', 'stream-1', 'webhook-1']
    await Promise.all(names.map((name) => h.system.kill(name)))
    await expectRecovery()
    await Promise.all(names.map((name) => h.system.start(name)))
    await expectRecovery()
  })

  test('spec 3.17: without identity nothing signed works', async () => {
    {
      await using _killed = await killAll('identity')
      await expectUnhealthy()
      await expectAvailable(nothing)
      // requests that do not need identity still work
      expectError(await call(h.place, 'GET', '/v2/messages/absent-message'), 404, 'not_found')
      expect(await call(h.place, 'GET', '/openapi.json')).toMatchObject({ status: 200 })
      expect(await call(h.place, 'GET', '/.well-known/agent.json')).toMatchObject({ status: 200 })
      expectError(await call(h.place, 'GET', '/v2/nothing'), 404, 'not_found')
      expectError(await call(h.place, 'GET', '/v2/me'), 401, 'unauthenticated')
      expectError(await call(h.place, 'GET', '/v2/agents'), 503, 'unavailable')
    }
    await expectRecovery()
  })

  test('spec 3.17: without messaging, operations of identity and budget work', async () => {
    {
      await using _killed = await killAll('messaging')
      await expectUnhealthy()
      await expectAvailable((name) => WITHOUT_MESSAGING.includes(name))
      // the log has the request id that the client got, and the error
      const answer = await alice.get('/v2/inbox', { url: h.system.urls[1] ?? '' })
      expectError(answer, 503, 'unavailable')
      await untilLogged(answer, ['gateway-2'])
    }
    await expectRecovery()
  })

  test('spec 11.2: without budget, free operations work', async () => {
    {
      await using _killed = await killAll('budget')
      await expectUnhealthy()
      await expectAvailable((name) => !NEEDS_BUDGET.includes(name))
    }
    await expectRecovery()
  })

  test('spec 3.17: without boards, all works except operations on a board', async () => {
    {
      await using _killed = await killAll('boards')
      await expectUnhealthy()
      await expectAvailable((name) => !NEEDS_BOARDS.includes(name))
    }
    await expectRecovery()
  })

  test('spec 3.17: without stream, all works except the stream', async () => {
    {
      await using _killed = await killAll('stream')
      await expectUnhealthy()
      await expectAvailable((name) => !NEEDS_STREAM.includes(name))
    }
    await expectRecovery()
  })

  test('spec 3.17: without webhook, all works except its configuration', async () => {
    {
      await using _killed = await killAll('webhook')
      await expectUnhealthy()
      await expectAvailable((name) => !NEEDS_WEBHOOK.includes(name))
    }
    await expectRecovery()
  })

  test('spec 3.17: without NATS, only operations of the gateway itself work', async () => {
    {
      await using _back = { [Symbol.asyncDispose]: () => h.system.nats.restart() }
      await h.system.nats.kill()
      await Promise.all([expectAvailable(nothing), expectUnhealthy()])
      expect(await call(h.place, 'GET', '/openapi.json')).toMatchObject({ status: 200 })
    }
    await expectRecovery()
  })

  test('spec 3.17, 5.2: without a database, health and every call that needs it are 503', async () => {
    {
      await using _cut = await cut(STORES)
      // Long enough that a client with exponential backoff would still be waiting when the database is back.
      for (const since = Date.now(); Date.now() - since < 3_000; ) {
        await expectUnhealthy()
        await expectAvailable(nothing, REFUSAL_LIMIT_MS)
        const answer = await call(h.place, 'GET', '/v2/agents')
        expectError(answer, 503, 'unavailable')
        await untilLogged(answer, ['identity-1', 'identity-2']) // logged by the service that failed
        expectError(await call(h.place, 'GET', '/v2/messages/absent-message'), 503, 'unavailable')
      }
    }
    await expectRecovery()
  })

  test.each<[StoreName, (name: string) => boolean]>([
    ['identity', () => false],
    ['messaging', (name) => WITHOUT_MESSAGING.includes(name) || JUDGED_FIRST.includes(name)],
    ['boards', (name) => !NEEDS_TABLES_OF_BOARDS.includes(name)],
    ['webhook', (name) => !NEEDS_TABLES_OF_WEBHOOK.includes(name)],
    ['stream', (name) => !NEEDS_STREAM.includes(name)],
    ['budget', (name) => !NEEDS_BUDGET.includes(name)],
  ])('%s without its database fails as if the service itself were gone', async (store, goesOn) => {
    {
      await using _cut = await cut([store])
      await expectUnhealthy()
      await expectAvailable(goesOn)
    }
    await expectRecovery()
  })

  test('spec 3.17, 5.2: a database that refuses every login: 503 for health and for every call that needs it', async () => {
    {
      await using _closed = await closeDatabase()
      await expectUnhealthy()
      await expectAvailable(nothing)
    }
    await expectRecovery()
  })

  test('messaging and budget are up but do not answer', async () => {
    // Like `within`, but freezes the services again before each attempt. NATS disconnects a process that is silent for
    // long, and calls then no longer wait for it.
    let tookMs = Number.POSITIVE_INFINITY
    for (let attempt = 1; attempt <= ATTEMPTS && tookMs >= ANSWER_LIMIT_MS; attempt += 1) {
      {
        using _frozen = freeze(['messaging', 'budget'])
        const since = performance.now()
        const asked = answersOfAll({ goesOn: (name) => name === 'GET /v2/me', limitMs: Number.POSITIVE_INFINITY })
        const measured = asked.finally(() => {
          tookMs = performance.now() - since
        })
        const [answers] = await Promise.all([measured, expectUnhealthy()])
        expect(answers).toMatchObject({
          'POST /v2/messages': '503 unavailable',
          'GET /v2/inbox': '503 unavailable',
          'GET /v2/budget': '503 unavailable',
          'GET /v2/me': '200',
        })
      }
      await expectRecovery()
    }
    expect(tookMs).toBeLessThan(ANSWER_LIMIT_MS)
  })

  test('the database is up but a table is locked', async () => {
    {
      await using admin = openAdmin(new URL(h.system.database.adminUrl).pathname.slice(1))
      await using locked = await admin.sql.reserve().then((sql) => ({
        sql,
        [Symbol.asyncDispose]: async () => {
          await sql`rollback`
          sql.release()
        },
      }))
      await locked.sql`begin`
      await locked.sql`lock table identity.agents in access exclusive mode`
      await expectAvailable(nothing)
    }
    await expectRecovery()
  })

  test('spec 4.1: a 500 never shows internals', async () => {
    await using admin = openAdmin(new URL(h.system.database.adminUrl).pathname.slice(1))
    await admin.sql`alter table identity.agents rename to agents_elsewhere`
    const answers = await Promise.all([
      call(h.place, 'GET', '/v2/agents'),
      call(h.place, 'GET', '/v2/agents/absent'),
      alice.get('/v2/me'),
    ])
    await admin.sql`alter table identity.agents_elsewhere rename to agents`
    for (const answer of answers) {
      expectError(answer, 500, 'internal')
      expect(answer.text).not.toMatch(/agents|identity|relation|select|postgres|sql|error:|\bat /i)
    }
    await expectRecovery()
  })
})
