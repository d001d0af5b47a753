/**
 * The drill of docs/operating/back-up.md, "Restore to a point in time", on a whole system. Postgres loses all of its files,
 * and is restored from a base backup and the archived log. The step that waits two minutes is left out, because these
 * clients repeat no request.
 */
import postgres from 'postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Run, svc } from '../../clients/cli/test/run.ts'
import type { Agent } from '../support/client/agent.ts'
import { got } from '../support/client/answers.ts'
import { idsOf, readList } from '../support/client/pages.ts'
import { startArchivedPostgres } from '../support/engines/postgres/archived-postgres.ts'
import { eventually } from '../support/eventually.ts'
import { untilResolved } from '../support/system/books.ts'
import { type Harness, startHarness } from '../support/system/harness.ts'
import { ONE_OF_EACH } from '../support/system/system.ts'

const MESSAGES = 12

let stored: Awaited<ReturnType<typeof startArchivedPostgres>>
let h: Harness
let anna: Agent
let ben: Agent

beforeAll(async () => {
  stored = await startArchivedPostgres()
  h = await startHarness({ replicas: ONE_OF_EACH, database: stored.database })
  ;[anna, ben] = await h.agents(2)
  await got(ben.patch('/v2/me', { inbox_policy: 'open' }))
  // Nothing answers there, so every job stays.
  await got(ben.put('/v2/webhook', { url: 'https://hooks.example.com/hook', secret: 's'.repeat(32) }))
})
afterAll(async () => {
  await (h ?? stored?.database)?.[Symbol.asyncDispose]()
})

/** @returns the envelopes that were accepted. */
async function sendSome(): Promise<ReturnType<Agent['envelope']>[]> {
  const envelopes = Array.from({ length: MESSAGES }, () => anna.envelope(ben))
  for (const envelope of envelopes) await got(anna.post('/v2/messages', envelope))
  return envelopes
}

async function latestCursor(agent: Agent): Promise<number> {
  const { headers } = await got(agent.get('/v2/events?limit=1'))
  return Number(headers.get('x-svc-latest-cursor'))
}

const operate = (...args: string[]): Promise<Run> =>
  svc(['admin', ...args, '--json'], { env: { SVC_NATS_URL: h.system.nats.urlFor('admin') } })

test('a restore to a point in time: the books agree, all messages accepted until then are stored, and have their webhook jobs', async () => {
  await sendSome()
  await stored.takeBaseBackup()
  const kept = await sendSome()
  const sql = postgres(stored.database.adminUrl, { max: 1 })
  const [moment] = await sql<{ text: string }[]>`select clock_timestamp()::text as text`
  await sql.end()
  const lost = await sendSome()
  const seenCursor = await latestCursor(ben)
  await stored.archiveLog()

  // 1 and 2: stop everything, restore the database
  const services = [...h.system.processes.keys()].filter((name) => name !== 'gateway-1')
  await h.system.processes.get('gateway-1')?.stop()
  await Promise.all(services.map((name) => h.system.processes.get(name)?.stop()))
  await stored.lose()
  await stored.restoreTo(moment?.text ?? '')

  // 3: NATS without the events of messages that no longer exist
  await h.system.nats.restart({ wipe: true })

  // 4: start every service except the gateway
  await Promise.all(services.map((name) => h.system.start(name)))
  const admin = postgres(stored.database.adminUrl, { max: 1, onnotice: () => {} })
  await untilResolved(admin)
  expect(await operate('verify')).toMatchObject({ exitCode: 0, stderr: '' })

  // 5: raise the heads
  expect((await operate('raise-heads', '--reason', 'a drill')).documents()).toMatchObject([{ by: 10_000 }])
  expect((await operate('raise-heads', '--reason', 'a drill')).documents()).toMatchObject([{ raised: 0 }])

  // 6: start the gateway
  await h.system.start('gateway-1')
  const found = idsOf(await eventually(() => readList(ben, '/v2/inbox?lane=inbox&limit=100')))
  expect(found).toHaveLength(2 * MESSAGES)
  expect(found).toEqual(expect.arrayContaining(kept.map(({ id }) => id)))
  expect(await latestCursor(ben)).toBeGreaterThan(seenCursor)

  // 7: an identical retry of a lost message is accepted as new
  expect((await anna.post('/v2/messages', lost[0])).status).toBe(202)
  await eventually(async () => {
    const jobs = await admin<{ id: string }[]>`select message_id as id from webhook.jobs`
    expect(jobs.map(({ id }) => id).toSorted()).toEqual([...found, lost[0]?.id].toSorted())
  })
  await untilResolved(admin)
  await admin.end()
  expect(await operate('verify')).toMatchObject({ exitCode: 0, stderr: '' })
})
