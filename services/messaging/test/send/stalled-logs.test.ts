import { eventually } from '@svc/test/support/eventually.ts'
import type postgres from 'postgres'
import { expect, test } from 'vitest'
import { type Harness, startHarness } from '../support/harness.ts'
import { outcomeOf } from '../support/outcome.ts'

/** As many as the pool has connections. */
const STALLED = Array.from({ length: 8 }, (_, at) => `stalled-${at}`)

test('changes that wait for stalled logs leave connections to messages, reads and changes of others', async () => {
  await using h = await startHarness()
  for (const agent of [...STALLED, 'bob']) await h.setPolicy(agent, 'open', 1)
  await using _held = await holdLogs(h.openAdmin(), STALLED)
  const changes = STALLED.flatMap((agent) => [
    outcomeOf(h.setContact(agent, 'mallory', 'blocked')),
    outcomeOf(h.setPolicy(agent, 'closed', 2)),
  ])
  const observer = h.openAdmin()
  await eventually(async () => (await lockWaiters(observer)) > 1)
  expect(await Promise.race([useOthers(h), ...changes])).toBe('others went on')
})

async function useOthers(h: Harness): Promise<string> {
  const change = h.setContact('carol', 'mallory', 'blocked')
  for (let round = 0; round < 3; round += 1) {
    await Promise.all([
      h.send({ from: `alice-${round}`, to: 'bob' }),
      h.send({ from: 'bob', to: `alice-${round}` }),
      h.inbox('bob'),
      h.events('bob'),
    ])
  }
  await change
  return 'others went on'
}

/** Locks logs until it is disposed of. */
async function holdLogs(admin: postgres.Sql, logs: string[]): Promise<AsyncDisposable> {
  const [held, free] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const ended = admin.begin(async (tx) => {
    await tx`select from messaging.logs where id = any (${logs}::text[]) for update`
    held.resolve()
    await free.promise
  })
  await Promise.race([held.promise, ended])
  return {
    async [Symbol.asyncDispose]() {
      free.resolve()
      await ended
    },
  }
}

async function lockWaiters(observer: postgres.Sql): Promise<number> {
  const found = await observer`
    select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  return found.length
}
