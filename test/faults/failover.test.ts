/**
 * The whole system on two Postgres servers with synchronous replication. Each server fails in turn, under load. No accepted
 * message is lost, and service returns without a restart (docs/operating/failures.md).
 */
import postgres from 'postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { svc } from '../../clients/cli/test/run.ts'
import type { Agent } from '../support/client/agent.ts'
import { got } from '../support/client/answers.ts'
import { idsOf, readList } from '../support/client/pages.ts'
import { type Senders, startSenders } from '../support/client/senders.ts'
import { type PostgresPair, startPostgresPair } from '../support/engines/postgres/postgres-pair.ts'
import { findWrongBooks, untilResolved } from '../support/system/books.ts'
import { type Harness, startHarness } from '../support/system/harness.ts'
import { ONE_OF_EACH } from '../support/system/system.ts'

let pair: PostgresPair
let h: Harness
let readers: Agent[]
let senders: Senders

beforeAll(async () => {
  pair = await startPostgresPair()
  const env = { SVC_DAILY_FREE_UNITS: '1000000', SVC_DAILY_HARD_LIMIT: '1000000' }
  h = await startHarness({ replicas: ONE_OF_EACH, database: pair.database, env })
  const [one, two, three, four] = await h.agents(4)
  readers = [two, four]
  for (const reader of readers) await got(reader.patch('/v2/me', { inbox_policy: 'open' }))
  senders = startSenders([
    [one, two],
    [three, four],
  ])
})
afterAll(async () => {
  await senders?.stop()
  await (h ?? pair)?.[Symbol.asyncDispose]()
})

test('spec 3.17: the primary is killed: the promoted standby serves, and later the old primary can take over again', async () => {
  await senders.untilEachAccepted()
  await pair.killPrimary()
  await pair.promote()
  await senders.untilEachAccepted()

  // The primary's old address now leads to a standby. A process that starts tries that address first.
  await pair.rejoin()
  await h.system.kill('messaging-1')
  await h.system.start('messaging-1')
  await senders.untilEachAccepted()

  await pair.stopPrimary()
  await pair.promote()
  await senders.untilEachAccepted()
  await senders.stop()
})

test('every accepted message is stored once', async () => {
  for (const [at, ids] of [...senders.accepted.values()].entries()) {
    expect(ids.length).toBeGreaterThan(3)
    const found = idsOf(await readList(readers[at] as Agent, '/v2/inbox?lane=inbox&limit=100'))
    expect(found.toSorted()).toEqual(ids.toSorted())
  }
})

test('the books agree', async () => {
  const admin = postgres(pair.database.adminUrl, { max: 2 })
  await untilResolved(admin)
  expect(await findWrongBooks(admin)).toEqual([])
  await admin.end()
  const verified = await svc(['admin', 'verify'], { env: { SVC_NATS_URL: h.system.nats.urlFor('admin') } })
  expect(verified).toMatchObject({ exitCode: 0, stderr: '' })
})
