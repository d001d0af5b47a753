import { openDatabase } from '@svc/postgres/database.ts'
import { createCountedDatabase } from '@svc/test/support/engines/postgres/read-counts.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alternate } from '../src/loops/reconciliation.ts'
import { purgeJobs } from '../src/store/jobs.ts'
import { beginPage, endPage } from '../src/store/reconciliation.ts'
import { type Harness, newAgent, silent, startHarness } from './harness.ts'

const OFTEN = { reconcileSeconds: 0.1 }

function idsAt(h: Harness, path: string): string[] {
  return h.receiver.at(path).map(({ headers }) => String(headers['x-svc-message-id']))
}

/** Waits until every present entry of every log has been compared. */
async function untilCovered(h: Harness): Promise<void> {
  const [begun] = await h.database.run((sql) => sql<{ now: string }[]>`select clock_timestamp()::text as now`)
  await eventually(async () => {
    const [row] = await h.database.run(
      (sql) => sql<{ covered: boolean }[]>`
        select r.covered_to > ${begun?.now ?? ''}::timestamptz as covered from webhook.reconciliation r`,
    )
    return row?.covered === true
  })
}

describe('jobs that JetStream lost are made from the logs', () => {
  let h: Harness
  beforeAll(async () => {
    h = await startHarness({ config: OFTEN })
  })
  afterAll(() => h[Symbol.asyncDispose]())

  test('every inbox entry after the configuration becomes one job, and nothing else does', async () => {
    const agent = newAgent()
    h.acceptUnheard(agent, 1)
    h.acceptUnheard(agent, 2)
    await h.set(agent, '/forgotten', 2)
    const expected: string[] = []
    for (let cursor = 3; cursor <= 130; cursor += 1) {
      if (cursor % 10 === 0) h.acceptUnheard(agent, cursor, { kind: cursor % 20 === 0 ? 'board' : 'requests' })
      else if (cursor % 25 === 1) h.acceptUnheard(agent, cursor, { expiresAt: 1 })
      else if (cursor % 3 === 0) {
        const messageId = `message-heard-${cursor}`
        await h.accept(agent, cursor, { messageId })
        expected.push(messageId)
      } else expected.push(h.acceptUnheard(agent, cursor))
    }
    await eventually(() => idsAt(h, '/forgotten').length >= expected.length)
    await untilCovered(h)
    expect(idsAt(h, '/forgotten').toSorted()).toEqual(expected.toSorted())
  })

  test('a log that lacks many jobs delays no other log, even if an answer has room for only a few entries', async () => {
    const [long, ...short] = Array.from({ length: 4 }, newAgent).toSorted()
    if (long === undefined) throw new Error('the test has no agent with a long log')
    // Ten answers of two entries are too few for the long log, but enough for the others.
    const enough = Promise.withResolvers<void>()
    let answers = 0
    h.messaging.pageEntries = 2
    h.messaging.beforeRead = () => {
      answers += 1
      return answers > 10 ? enough.promise : undefined
    }
    for (const agent of [long, ...short]) await h.set(agent, `/${agent}`)
    for (let cursor = 1; cursor <= 60; cursor += 1) h.acceptUnheard(long, cursor)
    for (const agent of short) h.acceptUnheard(agent, 1)
    await eventually(() => short.every((agent) => idsAt(h, `/${agent}`).length === 1))
    expect(idsAt(h, `/${long}`).length).toBeLessThan(60)
    h.messaging.pageEntries = 100
    h.messaging.beforeRead = () => {}
    enough.resolve()
    await eventually(() => idsAt(h, `/${long}`).length === 60)
  })

  test('a job that was removed after its end is not made again', async () => {
    const agent = newAgent()
    await h.set(agent, '/removed')
    h.acceptUnheard(agent, 1)
    await eventually(() => idsAt(h, '/removed').length === 1)
    await eventually(async () => (await h.state(agent)).pending === 0)
    await untilCovered(h)
    expect(await h.database.run((sql) => purgeJobs(sql, 0, 1_000))).toBeGreaterThan(0)
    h.acceptUnheard(agent, 2)
    await eventually(() => idsAt(h, '/removed').length === 2)
    await untilCovered(h)
    expect(new Set(idsAt(h, '/removed')).size).toBe(2)
    expect(idsAt(h, '/removed')).toHaveLength(2)
  })

  test('spec 10.4: a webhook that is set during a comparison gets nothing older, and everything newer', async () => {
    const agent = newAgent()
    await h.set(agent, '/before')
    let interrupt: (() => Promise<void>) | undefined = async () => {
      await h.set(agent, '/after', 1)
    }
    h.messaging.beforeRead = async () => {
      const once = interrupt
      interrupt = undefined
      await once?.()
    }
    h.acceptUnheard(agent, 1)
    await eventually(() => interrupt === undefined)
    const newer = h.acceptUnheard(agent, 2)
    await eventually(() => idsAt(h, '/after').length > 0)
    await untilCovered(h)
    expect(idsAt(h, '/before')).toEqual([])
    expect(idsAt(h, '/after')).toEqual([newer])
  })

  test('if a log was restored to an earlier moment, its endpoint continues at the end of the log', async () => {
    const agent = newAgent()
    h.acceptUnheard(agent, 1)
    await untilCovered(h)
    await using admin = openDatabase({
      url: h.config.databaseUrl,
      application: 'test',
      logger: silent,
      poolSize: 1,
    })
    await admin.run(
      (sql) => sql`
        insert into webhook.endpoints (agent_id, configuration, url, key_id, sealed, reconciled)
        values (${agent}, gen_random_uuid(), 'https://x/', '', 'x', 100)`,
    )
    await untilCovered(h)
    const newer = h.acceptUnheard(agent, 2)
    await untilCovered(h)
    const jobs = await admin.run(
      (sql) => sql<{ message_id: string }[]>`select j.message_id from webhook.jobs j where j.agent_id = ${agent}`,
    )
    expect(jobs.map(({ message_id }) => message_id)).toEqual([newer])
  })
})

test('jobs are kept until the logs have been compared beyond them', async () => {
  await using h = await startHarness({ replicas: 1, config: { reconcileSeconds: 3_600 } })
  const agent = newAgent()
  await h.set(agent, '/kept')
  // The first round may begin late, and would cover the job.
  await h.database.run((sql) => sql`update webhook.reconciliation set due_at = clock_timestamp() + interval '1 hour'`)
  await h.accept(agent, 1)
  await eventually(async () => idsAt(h, '/kept').length === 1 && (await h.state(agent)).pending === 0)
  expect(await h.database.run((sql) => purgeJobs(sql, 0, 10))).toBe(0)
  await h.database.run((sql) => sql`update webhook.reconciliation set covered_to = clock_timestamp()`)
  expect(await h.database.run((sql) => purgeJobs(sql, 0, 10))).toBe(1)
})

test.concurrent.each(['webhook.compared', 'webhook.reconciled'])(
  '%s: if a process dies there, another makes every job once',
  async (place) => {
    await using h = await startHarness({ replicas: 0, config: OFTEN })
    const first = await h.spawn({ SVC_WEBHOOK_RECONCILE_SECONDS: '3600' })
    const agents = Array.from({ length: 3 }, newAgent)
    for (const agent of agents) await h.set(agent, '/dying')
    await first.stop()
    const ids = agents.flatMap((agent) => Array.from({ length: 50 }, (_, at) => h.acceptUnheard(agent, at + 1)))
    const lookNow = () => h.database.run((sql) => sql`update webhook.reconciliation set due_at = clock_timestamp()`)
    await lookNow()
    const dying = await h.spawn({ SVC_FAILPOINTS: `${place}=kill@2` })
    expect((await dying.ended).reason).toBe('signal SIGKILL')
    // As if the lease of the dead process had expired.
    await lookNow()
    await Promise.all([h.spawn(), h.spawn()])
    await untilCovered(h)
    const [row] = await h.database.run(
      (sql) => sql<{ jobs: number; messages: number }[]>`
        select count(*) as jobs, count(distinct message_id) as messages from webhook.jobs`,
    )
    expect(row).toEqual({ jobs: ids.length, messages: ids.length })
  },
  60_000,
)

test('the lists alternate, so that cutting off the end is fair to all of them', () => {
  expect(alternate([['a1', 'a2', 'a3'], [], ['c1', 'c2']])).toEqual(['a1', 'c1', 'a2', 'c2', 'a3'])
})

test('a round begins an interval after the one before has begun, not after it has ended', async () => {
  await using database = await createCountedDatabase('webhook', [])
  const { admin, service } = database
  const runRound = async (begunAgo: string): Promise<void> => {
    await admin.run((sql) => sql`update webhook.reconciliation set place = '', due_at = now()`)
    const page = await service.run((sql) => beginPage(sql, 60))
    if (page === undefined) throw new Error('no page is due')
    await admin.run((sql) => sql`update webhook.reconciliation set begun_at = now() - ${begunAgo}::interval`)
    await service.run((sql) => endPage(sql, page, { place: '', complete: true, intervalSeconds: 60 }))
  }
  await runRound('0 s')
  expect(await service.run((sql) => beginPage(sql, 60))).toBeUndefined()
  await runRound('1 minute')
  expect(await service.run((sql) => beginPage(sql, 60))).toBeDefined()
})
