import { createCountedDatabase } from '@svc/test/support/engines/postgres/read-counts.ts'
import { expect, test } from 'vitest'
import { findAccess, findRoles } from '../src/store/access.ts'
import { saveBlock } from '../src/store/blocks.ts'
import { countBoards, findBoard, listBoards, lockBoard, lockBoardsOf, lockOwner } from '../src/store/boards.ts'
import { findGround, listMembers } from '../src/store/memberships.ts'

const FEW = 1_000
const MANY = 20_000
const PAGE = 51

/**
 * Statements are planned while the tables are almost empty, as in a new system, and a plan lives as long as its
 * connection. Each list reads at most its limit, so the rows that a page touches do not grow with the tables.
 */
test('every statement uses an index, and a page reads the same number of rows whatever the number of boards', async () => {
  await using database = await createCountedDatabase('boards')
  const { service, admin } = database
  const few = await readAfter(FEW)
  const many = await readAfter(MANY)
  expect(few.sequential).toBe(0)
  expect(many.sequential).toBe(0)
  expect(few.fetched).toBeGreaterThan(0)
  expect(many.fetched).toBeLessThan(few.fetched * 1.5)

  /** Fills the tables up to `count` boards, then reads one page of everything. */
  async function readAfter(count: number) {
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
    return database.countReads(async () => {
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
        await lockBoardsOf(tx, 'owner-0')
        await saveBlock(tx, 'joiner', 'owner-0', 1)
      })
    })
  }
})
