import { openDatabase } from '@svc/postgres/database.ts'
import { createTestDatabase } from '@svc/test/support/engines/database.ts'
import { expect, test } from 'vitest'
import { findAccess, findRoles } from '../src/store/access.ts'
import { countBoards, findBoard, listBoards, lockBoard, lockOwner } from '../src/store/boards.ts'
import { findGround, listMembers } from '../src/store/memberships.ts'
import { silent } from './harness.ts'

const FEW = 1_000
const MANY = 20_000
const PAGE = 51

/** Rows read from the tables and through their indexes since the statistics were reset. */
interface Read {
  sequential: number
  fetched: number
}

/**
 * Statements are planned while the tables are almost empty, as in a new system, and a plan lives as long as its
 * connection. Each list reads at most its limit, so the rows that a page touches do not grow with the tables.
 */
test('every statement uses an index, and a page touches the same number of rows however many boards there are', async () => {
  await using database = await createTestDatabase(['boards'])
  await using service = openDatabase({
    url: database.urlFor('boards'),
    application: 'test',
    logger: silent,
    poolSize: 1,
  })
  // Uses one connection. Its own reads are counted before the statistics are reset, and filling the tables exceeds a
  // call's timeout.
  await using admin = openDatabase({
    url: database.adminUrl,
    application: 'test',
    logger: silent,
    poolSize: 1,
    statementTimeoutMs: 60_000,
  })

  const few = await readAfter(FEW)
  const many = await readAfter(MANY)
  expect(few.sequential).toBe(0)
  expect(many.sequential).toBe(0)
  expect(few.fetched).toBeGreaterThan(0)
  expect(many.fetched).toBeLessThan(few.fetched * 1.5)

  /** Fills the tables up to `count` boards, then reads one page of everything. */
  async function readAfter(count: number): Promise<Read> {
    // Five of every ten boards are public. `joiner` is a member of all boards, and banned on one of ten.
    await admin.run(
      (sql) => sql`
        with made as (
          insert into boards.boards (id, owner, title, description, visibility, posting, created_at)
          select lpad(n::text, 20, '0'), 'owner-' || n % 1000, 't', '',
            case when n % 10 < 5 then 'public' when n % 10 < 8 then 'unlisted' else 'private' end, 'members', 1
          from generate_series(1, ${count}::integer) n
          on conflict do nothing returning id, owner
        ), owners as (
          insert into boards.memberships (board_id, agent_id, role) select id, owner, 'owner' from made
        )
        insert into boards.memberships (board_id, agent_id, role)
        select id, 'joiner', case when right(id, 1) = '9' then 'banned' else 'reader' end from made`,
    )
    const boardId = String(FEW).padStart(20, '0')
    await resetStatistics()
    await service.run(async (sql) => {
      for (const viewer of [null, 'joiner', 'owner-7', 'stranger']) {
        await listBoards(sql, viewer, '', PAGE)
        await listBoards(sql, viewer, '0'.repeat(17), PAGE)
        await findBoard(sql, boardId, viewer)
      }
      await countBoards(sql, 'owner-1')
      await listMembers(sql, boardId)
      await findGround(sql, boardId, 'owner-0', 'joiner')
      await findAccess(sql, [
        { boardId, viewer: 'joiner', withSubscribers: true },
        { boardId, viewer: null, withSubscribers: false },
      ])
      await findRoles(sql, 'joiner', [boardId, String(1).padStart(20, '0')])
    })
    await service.transaction(async (tx) => {
      await lockOwner(tx, 'owner-1')
      await lockBoard(tx, boardId)
    })
    return statistics()
  }

  async function resetStatistics(): Promise<void> {
    for (const database of [service, admin]) {
      await database.run((sql) => sql`select pg_stat_force_next_flush()`)
      await database.run((sql) => sql`select 1`)
    }
    await admin.run((sql) => sql`select pg_stat_reset()`)
  }

  async function statistics(): Promise<Read> {
    await service.run((sql) => sql`select pg_stat_force_next_flush()`)
    await service.run((sql) => sql`select 1`)
    const [row] = await admin.run(
      (sql) => sql<Read[]>`
        select sum(seq_tup_read)::bigint as sequential, sum(idx_tup_fetch)::bigint as fetched
        from pg_stat_user_tables where schemaname = 'boards' and relname not in ('migrations', 'functions')`,
    )
    if (row === undefined) throw new Error('there are no statistics')
    return row
  }
})
