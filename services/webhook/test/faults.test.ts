import { healthOf } from '@svc/contracts/health.ts'
import { getWebhook, measureWebhooks, setWebhook } from '@svc/contracts/webhook.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { startTcpProxy } from '@svc/test/support/stand-ins/tcp-proxy.ts'
import { describe, expect, test } from 'vitest'
import { type Harness, newAgent, SECRET, startHarness } from './harness.ts'

/** No attempt times out on a busy machine. The tests end the leases of a process that died (`endLeases`). */
const CONFIG = { attemptSeconds: 60, leaseSeconds: 65, backoff: [0, 0.1, 0.1, 0.1, 0.1] }
const PLACES = [
  'webhook.ingested',
  'webhook.claimed',
  'webhook.resolved',
  'webhook.begun',
  'webhook.attempted',
  'webhook.finished',
]
const EVENTS = 6

interface Endpoint {
  agentId: string
  path: string
  messageIds: string[]
}

/** Three agents with webhooks, whose messages are accepted while a process dies at the failpoint. */
async function startDying(place: string): Promise<{ h: Harness; endpoints: Endpoint[] }> {
  const h = await startHarness({ replicas: 0, config: CONFIG })
  const first = await h.start()
  const endpoints = ['/one', '/two', '/three'].map((path) => ({
    agentId: newAgent(),
    path,
    messageIds: Array.from({ length: EVENTS }, (_, at) => `msg${path.replace('/', '-')}-${at}`),
  }))
  for (const { agentId, path } of endpoints) await h.set(agentId, path)
  await first[Symbol.asyncDispose]()
  const dying = await h.spawn({ SVC_FAILPOINTS: `${place}=kill@3` })
  await h.acceptAll(
    endpoints.flatMap(({ agentId, messageIds }) =>
      messageIds.map((messageId, at) => ({ agentId, cursor: at + 1, messageId })),
    ),
  )
  expect((await dying.ended).reason).toBe('signal SIGKILL')
  await untilDisconnected(h)
  await endLeases(h)
  return { h, endpoints }
}

function idsAt(h: Harness, path: string): string[] {
  return h.receiver.at(path).map(({ headers }) => String(headers['x-svc-message-id']))
}

describe('spec 10.4, 10.7: delivery is at least once, whichever process is killed', () => {
  test.concurrent.each(PLACES)(
    '%s: every message reaches its own endpoint, and no other; all attempts have one delivery id',
    async (place) => {
      const { h, endpoints } = await startDying(place)
      await using _ = h
      await Promise.all([h.start(), h.start()])
      for (const { agentId, path, messageIds } of endpoints) {
        await eventually(() => new Set(idsAt(h, path)).size === EVENTS)
        await eventually(async () => (await h.state(agentId)).pending === 0)
        expect(await h.state(agentId)).toMatchObject({ pending: 0, failed: 0 })
        expect(new Set(idsAt(h, path))).toEqual(new Set(messageIds))
        const deliveries = new Set(h.receiver.at(path).map(({ headers }) => headers['x-svc-delivery-id']))
        expect(deliveries.size).toBe(EVENTS)
        expect(h.receiver.maxInFlight(path)).toBeLessThanOrEqual(2)
      }
    },
  )
})

describe('spec 10.1: never after a change of configuration', () => {
  test.concurrent.each(PLACES)(
    '%s: pending deliveries of a dead process go neither to the old endpoint nor to the new one',
    async (place) => {
      const { h, endpoints } = await startDying(place)
      await using _ = h
      // Another process makes the change. Until then it may take over pending deliveries.
      await h.start()
      // Repeated, because a call may come too late on a busy machine.
      for (const { agentId } of endpoints) await eventually(() => h.set(agentId, '/new', EVENTS))
      const answered = endpoints.map(({ path }) => h.receiver.at(path).length)
      const accept = (cursor: number): Promise<void> =>
        h.acceptAll(endpoints.map(({ agentId }, at) => ({ agentId, cursor, messageId: `msg-after-${at}-${cursor}` })))
      await accept(EVENTS + 1)
      // Count each message once, because an attempt that timed out is repeated.
      await eventually(() => new Set(idsAt(h, '/new')).size === endpoints.length)
      await eventually(async () => (await countJobs(h)) === endpoints.length)
      await eventually(() => endpoints.every(({ path }) => h.receiver.inFlight(path) === 0))
      // A request that had passed its last check cannot be recalled (spec 10.1). Two slots, so two requests.
      const sent = endpoints.map(({ path }) => h.receiver.at(path).length)
      for (const [at, count] of sent.entries()) expect(count - (answered[at] ?? 0)).toBeLessThanOrEqual(2)
      await accept(EVENTS + 2)
      await eventually(() => new Set(idsAt(h, '/new')).size === 2 * endpoints.length)
      expect(endpoints.map(({ path }) => h.receiver.at(path).length)).toEqual(sent)
      expect(idsAt(h, '/new').every((id) => id.startsWith('msg-after-'))).toBe(true)
    },
  )
})

describe('ADR 21: a process killed between any two steps of a PUT', () => {
  test.concurrent.each(['charging.webhook.reserved', 'charging.webhook.committed', 'charging.webhook.settled'])(
    '%s: the webhook is set and its unit charged, or neither',
    async (place) => {
      await using h = await startHarness({ replicas: 0, config: CONFIG })
      h.budget.holdMs = 4_000
      const dying = await h.spawn({ SVC_FAILPOINTS: `${place}=kill` })
      const agent_id = newAgent()
      const webhook = { url: 'https://example.com/', secret: SECRET }
      await Promise.all([h.codeOf(setWebhook, { agent_id, webhook, after: 0 }), dying.ended])
      await h.start()
      const units = (await h.codeOf(getWebhook, { agent_id })) === 'ok' ? 1 : 0
      expect(units).toBe(place === 'charging.webhook.reserved' ? 0 : 1)
      await eventually(() => h.budget.held === 0 && h.budget.usedBy(agent_id) === units)
    },
  )
})

describe('deliveries continue after an outage, and metrics show the backlog', () => {
  test('NATS killed and restarted, and then without its data: events still become jobs', async () => {
    await using h = await startHarness({ config: CONFIG })
    const agent = newAgent()
    await h.set(agent, '/nats')
    await h.accept(agent, 1, { messageId: 'msg-nats-1' })
    await eventually(() => idsAt(h, '/nats').includes('msg-nats-1'))
    await h.nats.kill()
    await h.nats.restart()
    await h.accept(agent, 2, { messageId: 'msg-nats-2' })
    await eventually(() => idsAt(h, '/nats').includes('msg-nats-2'))
    await h.nats.restart({ wipe: true })
    await h.accept(agent, 3, { messageId: 'msg-nats-3' })
    await eventually(() => idsAt(h, '/nats').includes('msg-nats-3'))
    expect(idsAt(h, '/nats').toSorted()).toEqual(['msg-nats-1', 'msg-nats-2', 'msg-nats-3'])
  })

  test('Postgres down in the middle of a delivery: when the lease has expired, the delivery is repeated with the same id, and no attempt is lost', async () => {
    await using proxy = await startTcpProxy()
    await using h = await startHarness({ replicas: 1, config: CONFIG, databaseUrl: (url) => proxy.through(url) })
    const agent = newAgent()
    const held: (() => void)[] = []
    h.receiver.answer('/held', (_request, response) => void held.push(() => response.writeHead(204).end()))
    await h.set(agent, '/held')
    await h.accept(agent, 1)
    await eventually(() => held.length === 1)
    await proxy.cut()
    h.receiver.answer('/held', 204)
    held[0]?.()
    await h.accept(agent, 2)
    await proxy.mend()
    await endLeases(h)
    await eventually(async () => (await jobsOf(h, agent)).filter(({ ended }) => ended).length === 2)
    const deliveries = h.receiver.at('/held').map(({ headers }) => headers['x-svc-delivery-id'])
    expect(new Set(deliveries).size).toBe(2)
    expect(await h.state(agent)).toMatchObject({ pending: 0, failed: 0 })
    expect((await jobsOf(h, agent)).map(({ attempts }) => attempts)).toEqual([1, 1])
  })

  test('NATS down in the middle of a delivery: the delivery ends normally, and a repeated event makes no second delivery', async () => {
    await using h = await startHarness({ replicas: 1, config: CONFIG })
    const agent = newAgent()
    const held: (() => void)[] = []
    h.receiver.answer('/held', (_request, response) => void held.push(() => response.writeHead(204).end()))
    await h.set(agent, '/held')
    const event = { agentId: agent, cursor: 1, messageId: 'msg-held' }
    await h.acceptAll([event])
    await eventually(() => held.length === 1)
    await h.nats.kill()
    held[0]?.()
    await eventually(async () => (await jobsOf(h, agent))[0]?.ended === true)
    await h.nats.restart({ wipe: true })
    h.receiver.answer('/held', 204)
    await h.acceptAll([event, { agentId: agent, cursor: 2, messageId: 'msg-next' }])
    await eventually(() => idsAt(h, '/held').includes('msg-next'))
    expect(idsAt(h, '/held')).toEqual(['msg-held', 'msg-next'])
  })

  test('the metrics show the oldest due job, the lag of the consumer and the requests under way', async () => {
    await using h = await startHarness({ replicas: 1 })
    expect(await h.call(healthOf('webhook'), {})).toEqual({ ready: true })
    const agent = newAgent()
    h.receiver.answer('/slow', () => {})
    await h.set(agent, '/slow')
    await h.acceptAll(Array.from({ length: 5 }, (_, at) => ({ agentId: agent, cursor: at + 1 })))
    await eventually(() => h.receiver.inFlight('/slow') === 2)
    await eventually(async () => {
      expect(await h.call(measureWebhooks, {})).toEqual({ oldest_due_seconds: 0, consumer_lag: 0, in_flight: 2 })
    })
  })

  test('SIGTERM: deliveries under way end, and the process ends with code 0', async () => {
    await using h = await startHarness({ replicas: 0, config: CONFIG })
    const child = await h.spawn()
    const agent = newAgent()
    const held: (() => void)[] = []
    h.receiver.answer('/held', (_request, response) => void held.push(() => response.writeHead(204).end()))
    await h.set(agent, '/held')
    await h.accept(agent, 1)
    await eventually(() => held.length === 1)
    const ending = child.stop()
    for (const respond of held) respond()
    expect(await ending).toMatchObject({ code: 0 })
    await h.start()
    expect(await h.state(agent)).toMatchObject({ pending: 0, failed: 0 })
    expect(h.receiver.at('/held')).toHaveLength(1)
  })
})

async function jobsOf(h: Harness, agentId: string): Promise<{ attempts: number; ended: boolean }[]> {
  return h.database.run(
    (sql) => sql<{ attempts: number; ended: boolean }[]>`
      select j.attempts, j.ended_at is not null as ended from webhook.jobs j where j.agent_id = ${agentId}`,
  )
}

/** Postgres still runs a statement that it got from a process that died. */
async function untilDisconnected(h: Harness): Promise<void> {
  const others = async () =>
    h.database.run(
      (sql) => sql`
        select from pg_stat_activity
        where application_name like 'svc-%' and datname = current_database()`,
    )
  await eventually(async () => expect(await others()).toHaveLength(0))
}

/** As if the leases of all jobs had expired. */
async function endLeases(h: Harness): Promise<void> {
  await h.database.run((sql) => sql`update webhook.jobs set due_at = clock_timestamp() where lease is not null`)
  await h.database.run((sql) => sql`update webhook.endpoints set due_at = clock_timestamp() where due_at is not null`)
}

async function countJobs(h: Harness): Promise<number> {
  const [row] = await h.database.run((sql) => sql<{ jobs: number }[]>`select count(*) as jobs from webhook.jobs`)
  return row?.jobs ?? 0
}
