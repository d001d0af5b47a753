import { createHash, randomBytes } from 'node:crypto'
import type { Call } from '@svc/contracts/define.ts'
import { listEvents, listInbox, sendMessage, setContact, setMailbox } from '@svc/contracts/messaging.ts'
import type { Events, MessageList } from '@svc/contracts/resources.ts'
import { createBus } from '@svc/nats/bus.ts'
import { connectNats, drainNats } from '@svc/nats/connect.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import { createTestDatabase } from '@svc/test/support/engines/database.ts'
import { findTestRun, startTestNats } from '@svc/test/support/engines/engines.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { startTcpProxy } from '@svc/test/support/stand-ins/tcp-proxy.ts'
import { endingOf } from '@svc/test/support/system/dying.ts'
import { startTestProcess, type TestProcess } from '@svc/test/support/system/processes.ts'
import postgres from 'postgres'
import { describe, expect, test } from 'vitest'
import { outcomeOf } from '../support/outcome.ts'

const logger = createLogger('test', 'silent')
const CALL_TIMEOUT_MS = 15_000
/** A reservation is held for 10 s, then the resolver finds it. */
const RESOLVED_MS = 60_000

/** Processes of messaging and of budget, and a caller with the gateway's rights. */
async function startHarness() {
  await using stack = new AsyncDisposableStack()
  const database = stack.use(await createTestDatabase(['messaging', 'budget']))
  const nats = stack.use(await startTestNats())
  const run = await findTestRun()
  const admin = stack.adopt(postgres(database.adminUrl, { max: 1, onnotice: () => {} }), (sql) => sql.end())
  let started = 0
  const spawn = async (service: 'messaging' | 'budget', env: NodeJS.ProcessEnv = {}): Promise<TestProcess> => {
    started += 1
    const urls = { SVC_NATS_URL: nats.urlFor(service), SVC_DATABASE_URL: database.urlFor(service) }
    const child = startTestProcess({ service, index: started, run, env: { PATH: process.env.PATH, ...urls, ...env } })
    running.adopt(child, async (one) => void (await one.kill('SIGKILL')))
    await child.untilReady()
    return child
  }
  const running = stack.use(new AsyncDisposableStack())
  const gateway = stack.adopt(await connectNats({ url: nats.urlFor('gateway'), name: 'test', logger }), drainNats)
  const bus = stack.use(createBus(gateway))
  const contextNow = () => ({ traceparent: newTraceparent(), deadlineMs: Date.now() + CALL_TIMEOUT_MS })
  await spawn('budget')
  const whole = stack.move()
  return {
    admin,
    /** Where messaging finds NATS. */
    natsUrl: nats.urlFor('messaging'),
    spawn: (env?: NodeJS.ProcessEnv) => spawn('messaging', env),
    call: <Q, R>(call: Call<Q, R>, request: Q) => bus.call(call, request, contextNow()),
    /** The events of bob. */
    events: async () => {
      const { text } = await bus.callText(listEvents, { agent_id: BOB, after: 0, limit: 100 }, contextNow())
      return (JSON.parse(text) as Events).events
    },
    inbox: async () => {
      const filter = { lane: 'inbox', unacked: false, thread_id: null, after: null, limit: 100 } as const
      const { text } = await bus.callText(listInbox, { agent_id: BOB, ...filter }, contextNow())
      return (JSON.parse(text) as MessageList).messages
    },
    send: (from: string, to: string, body: string) => bus.call(sendMessage, envelopeOf(from, to, body), contextNow()),
    [Symbol.asyncDispose]: () => whole.disposeAsync(),
  }
}

function envelopeOf(signer: string, recipient: string, body: string) {
  const id = randomBytes(12).toString('base64url')
  const envelope = JSON.stringify({ id, from: signer, to: recipient, body })
  const facts = {
    id,
    digest: createHash('sha256').update(envelope).digest('hex'),
    ts_ms: Date.now(),
    ttl: 0,
    reply_to: null,
    thread_id: null,
    payload_bytes: body.length + 2,
  }
  return { signer, recipient: { kind: 'agent' as const, id: recipient }, facts, envelope, reserved: null }
}

const [ALICE, BOB] = ['A'.repeat(43), 'B'.repeat(43)]
const newAgent = () => randomBytes(32).toString('hex').replaceAll('0', 'g').slice(0, 43)
const ACCEPT = { agent_id: BOB, other: ALICE, state: 'accepted' } as const

describe('spec 12.3; ADR 21: a process killed between any two steps of accepting a contact', () => {
  test.concurrent.each([
    ['charging.messaging.reserved', false],
    ['charging.messaging.committed', true],
    ['charging.messaging.settled', true],
  ])(
    '%s: state, promotion and charge happen all or not at all (%s), and with a repeat there is one charge',
    async (place, isCommitted) => {
      await using h = await startHarness()
      const first = await h.spawn()
      const { msg_id: id } = await h.send(ALICE, BOB, 'hello')
      await first.stop()
      const dying = await h.spawn({ SVC_FAILPOINTS: `${place}=kill` })
      expect(await endingOf(dying, () => outcomeOf(h.call(setContact, ACCEPT)))).toBe('signal SIGKILL')

      await h.spawn()
      const promoted = { cursor: 2, kind: 'inbox' }
      const request = {
        cursor: 1,
        kind: 'requests',
        message: { lane: isCommitted ? 'inbox' : 'requests', envelope: { id } },
      }
      expect(await h.events()).toMatchObject(isCommitted ? [request, promoted] : [request])
      await eventually(() => isCharged(h.admin, isCommitted ? 1 : 0), {
        timeoutMs: RESOLVED_MS,
        what: `${isCommitted ? 1 : 0} units being charged for good`,
      })

      expect(await h.call(setContact, ACCEPT)).toEqual({ state: 'accepted' })
      await eventually(() => isCharged(h.admin, 1), { timeoutMs: RESOLVED_MS, what: 'one charge' })
      expect(await h.events()).toHaveLength(2)
    },
    180_000,
  )
})

test('a process that is paused inside a contact change delays messages only to its own agent', async () => {
  await using h = await startHarness()
  await using way = await startTcpProxy()
  await h.spawn()
  await h.spawn({ SVC_NATS_URL: way.through(h.natsUrl), SVC_FAILPOINTS: 'messaging.contact.locked=stop' })
  // Agents change their contacts until a change comes to the process that stops in it.
  const stalled = await eventually(async () => {
    const agent = newAgent()
    let isAnswered = false
    const changed = outcomeOf(h.call(setContact, { ...ACCEPT, agent_id: agent })).then(() => {
      isAnswered = true
    })
    await Promise.race([changed, eventually(async () => isAnswered || (await isStalled(h.admin)))])
    return !isAnswered && agent
  })
  await way.cut() // requests of other agents do not reach it
  const own = [h.send(newAgent(), stalled, 'waits'), h.send(newAgent(), stalled, 'waits')].map(outcomeOf)
  for (let round = 0; round < 5; round += 1) {
    // A request that NATS sent before it noticed the cut connection is lost, and a client repeats the request.
    await Promise.all(Array.from({ length: 4 }, () => eventually(() => h.send(newAgent(), newAgent(), 'goes on'))))
  }
  // They waited for the lock until the timeout (ADR 14). Without the wait they would be accepted.
  expect(await Promise.all(own)).toEqual(['unavailable', 'unavailable'])
}, 120_000)

/** A transaction is open, and its process has been silent for long. */
async function isStalled(admin: postgres.Sql): Promise<boolean> {
  const found = await admin`
    select from pg_stat_activity
    where datname = current_database() and state = 'idle in transaction' and state_change < clock_timestamp() - interval '0.5 s'`
  return found.length > 0
}

/** No reservation is held any more, and bob has paid this many units. */
async function isCharged(admin: postgres.Sql, units: number): Promise<boolean> {
  const held = await admin`select from budget.reservations where state = 'held'`
  const [account] = await admin`select used_units::int as used from budget.accounts where agent_id = ${BOB}`
  return held.length === 0 && (account?.used ?? 0) === units
}

describe('calls over NATS', () => {
  test('spec 7.9: a page of nearly 512 KiB arrives whole, even if several are requested at once', async () => {
    await using h = await startHarness()
    await h.spawn()
    await h.call(setMailbox, { agent_id: BOB, policy: 'open', revoked: false, version: 1 })
    for (let count = 0; count < 6; count += 1) await h.send(ALICE, BOB, '\u0001'.repeat(14 * 1024))
    const pages = await Promise.all(Array.from({ length: 5 }, () => h.inbox()))
    for (const messages of pages) expect(messages).toHaveLength(6)
  })
})
