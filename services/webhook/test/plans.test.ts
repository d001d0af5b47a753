import { randomUUID } from 'node:crypto'
import { createCountedDatabase } from '@svc/test/support/engines/postgres/read-counts.ts'
import { expect, test } from 'vitest'
import { listSealedOtherwise, oldestDueSeconds } from '../src/store/endpoints.ts'
import {
  type ClaimedJob,
  claimJobs,
  createBegin,
  createEndAttempts,
  createIngest,
  purgeJobs,
} from '../src/store/jobs.ts'
import { advance, findConfigurations, findMissing, listPositions } from '../src/store/reconciliation.ts'

const FEW = 1_000
const MANY = 20_000
const FAR = 4_000_000_000
const EVERYTHING = { steadyJobs: 16, strugglingJobs: 16, hostJobs: 16, busy: [] }

/**
 * Statements are planned while the tables are almost empty, as in a new system, and a plan lives as long as its
 * connection. The rows that a worker reads grow neither with the jobs that wait at an endpoint, nor with the jobs that
 * have ended.
 */
test('due jobs are found by an index, whatever their number at one endpoint', async () => {
  await using database = await createCountedDatabase('webhook', ['endpoints', 'jobs'])
  const { service, admin } = database
  const [begin, endAttempts] = [createBegin(service, 60), createEndAttempts(service)]
  const ingest = createIngest(service, [0, 0, 0, 0, 0], () => {})

  const few = await readAfter(FEW)
  const many = await readAfter(MANY)
  expect(few.sequential).toBe(0)
  expect(many.sequential).toBe(0)
  expect(few.fetched).toBeGreaterThan(0)
  expect(many.fetched).toBeLessThan(few.fetched * 1.5)

  /**
   * Fills one endpoint with `count` due jobs, `count` later jobs and `count` ended jobs, adds `count` other endpoints, and
   * runs every statement once.
   */
  async function readAfter(count: number) {
    const [agentId, configuration] = [`agent-${count}`, randomUUID()]
    await admin.run(
      (sql) => sql`
        insert into webhook.endpoints (agent_id, configuration, url, key_id, sealed, due_at)
        values (${agentId}, ${configuration}, 'https://x/', 'key', '', now())`,
    )
    await admin.run(
      (sql) => sql`
        insert into webhook.jobs (configuration, message_id, agent_id, body, expires_at, due_at, accepted_ms)
        select ${configuration}, 'waits-' || n, ${agentId}, '{}', ${FAR}, now() - interval '1 hour' + n * interval '1 ms', 1
        from generate_series(1, ${count}::integer) n`,
    )
    await admin.run(
      (sql) => sql`
        insert into webhook.jobs (configuration, message_id, agent_id, body, expires_at, due_at, accepted_ms)
        select ${configuration}, 'later-' || n, ${agentId}, '{}', ${FAR}, now() + interval '1 hour' + n * interval '1 ms', 1
        from generate_series(1, ${count}::integer) n`,
    )
    await admin.run(
      (sql) => sql`
        insert into webhook.endpoints (agent_id, configuration, url, key_id, sealed, due_at)
        select ${agentId} || n, gen_random_uuid(), 'https://x/', 'key', '', now() + interval '1 hour'
        from generate_series(1, ${count}::integer) n`,
    )
    await admin.run(
      (sql) => sql`
        insert into webhook.jobs (configuration, message_id, agent_id, expires_at, ended_at, accepted_ms)
        select ${configuration}, 'ended-' || n, ${agentId}, ${FAR}, now(), 1 from generate_series(1, ${count}::integer) n`,
    )
    await admin.run((sql) => sql`analyze`)
    const read = await database.countReads(async () => {
      const jobs = await service.run((sql) => claimJobs(sql, EVERYTHING, 60))
      const own = jobs.filter((job) => job.agentId === agentId)
      expect(own.map(({ messageId }) => messageId)).toEqual(['waits-1', 'waits-2'])
      // The slots are taken, so there is nothing to claim, and no row is read.
      expect(await service.run((sql) => claimJobs(sql, EVERYTHING, 60))).toEqual([])
      expect(await Promise.all(own.map(begin))).toEqual([true, true])
      const [first, second] = own as [ClaimedJob, ClaimedJob]
      await endAttempts({ job: first, outcome: { kind: 'delivered' }, slow: false })
      await endAttempts({
        job: second,
        outcome: { kind: 'retry', afterSeconds: 3_600, error: 'status 500' },
        slow: false,
      })
      await ingest({ agentId, cursor: 1, messageId: 'msg-new', expiresAt: FAR, acceptedMs: 1, envelope: '{}' })
      await service.run(oldestDueSeconds)
      expect((await service.run((sql) => listPositions(sql, '', 2))).agentIds).toHaveLength(2)
      expect((await service.run((sql) => findConfigurations(sql, [agentId]))).get(agentId)).toBe(configuration)
      const keys = ['msg-new', 'msg-absent'].map((messageId) => ({ configuration, messageId }))
      expect(await service.run((sql) => findMissing(sql, keys))).toEqual([{ configuration, messageId: 'msg-absent' }])
      expect((await advance(service, [{ agentId, configuration, position: 0, to: 1 }], [], [0])).agentIds.size).toBe(1)
      await service.run((sql) => listSealedOtherwise(sql, 'key', { keyId: '', agentId: '' }, 10))
      await service.run((sql) => purgeJobs(sql, 3_600, 10))
    })
    // Leaves only the other endpoint for the next round.
    await admin.run((sql) => sql`update webhook.endpoints set due_at = null`)
    return read
  }
})
