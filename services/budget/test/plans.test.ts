import { openDatabase } from '@svc/postgres/database.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { createTestDatabase } from '@svc/test/support/engines/database.ts'
import { expect, test } from 'vitest'
import { findAccountState } from '../src/store/accounts.ts'
import { releaseBatch } from '../src/store/release.ts'
import { listOverdue, SLOTS, truncateReservations } from '../src/store/reservations.ts'
import { findBusyAccounts, reserveBatch } from '../src/store/reserve.ts'
import { settleBatch } from '../src/store/settle.ts'
import { newOperation } from './harness.ts'

const AGENTS = 20
const BATCHES = 100
const ALLOWANCES = { freeUnits: 1_000, hardLimit: 1_000, introductions: 1_000 }

/**
 * A plan that is made while the tables are empty stays in use as long as its connection. It may scan a whole table, or, for
 * every settle, the index of all held reservations. That goes unnoticed until there are many rows.
 */
test('every statement uses an index, from the first row on and with any statistics', async () => {
  await using database = await createTestDatabase(['budget'])
  const logger = createLogger('test', 'silent')
  await using service = openDatabase({ url: database.urlFor('budget'), application: 'test', logger, poolSize: 1 })
  await using admin = openDatabase({ url: database.adminUrl, application: 'test', logger })
  const { sql } = service
  const long = new Date(Date.now() - 7_200_000)

  for (let batch = 0; batch < BATCHES; batch += 1) {
    const items = Array.from({ length: AGENTS }, (_, at) => ({
      operation: newOperation(),
      owner: 'messaging',
      agentId: `agent-${at}`,
      units: 1,
      introductionPeer: `peer-${batch}`,
      holdMs: 1_000,
    }))
    // Every statement is planned while the tables are almost empty, and runs again when they have grown. Most items stay held.
    const answers = await reserveBatch(sql, ALLOWANCES, items, { at: long })
    const taken = items.map(({ operation }, at) => ({ operation, deadlineMs: answers[at]?.deadlineMs ?? 0 }))
    await settleBatch(
      sql,
      taken.slice(0, 2).map(({ operation }) => operation),
      batch % 2 === 0,
    )
    await releaseBatch(sql, taken.slice(2, 4))
    // A single item of a pair that is already introduced takes the short path of the function.
    const again = { operation: newOperation(), owner: 'messaging', agentId: 'agent-0', units: 1, holdMs: 1_000 }
    await reserveBatch(sql, ALLOWANCES, [{ ...again, introductionPeer: `peer-${batch}` }], { at: long })
    expect(await listOverdue(sql, 'identity', 10)).toEqual([])
    await findAccountState(sql, 'agent-1')
    expect(await findBusyAccounts(sql, ['agent-1', 'agent-2'])).toEqual(new Set())
  }
  // Most of them are held.
  for (const slot of SLOTS) {
    expect(await truncateReservations(sql, { slot, keptMs: 3_600_000, waitMs: 1_000 })).toBe(false)
  }
  await sql`select pg_stat_force_next_flush()`
  await sql`select 1`

  const tables = await admin.sql<{ relname: string; rows: number }[]>`
    select relname, seq_tup_read as rows from pg_stat_user_tables where schemaname = 'budget' and seq_tup_read > 0`
  expect(tables.filter(({ relname }) => relname !== 'migrations' && relname !== 'functions')).toEqual([])
  const [held] = await admin.sql<{ rows: number }[]>`
    select sum(u.idx_tup_read)::int as rows from pg_stat_user_indexes u join pg_inherits i on i.inhrelid = u.indexrelid
    where i.inhparent = 'budget.reservations_held'::regclass`
  // By one of these, truncateReservations sees that something is held. Entries of rows that were settled count too.
  expect(held?.rows).toBeLessThan(10)
})
