import type { BoardDetails, MemberRole } from '@svc/contracts/resources.ts'
import type { Sql, Tx } from '@svc/postgres/database.ts'
import type { BoardRules } from '../domain/access.ts'

/** `title` and `description` in UTF-8, which may hold what a text of Postgres cannot. */
export type BoardRow = Omit<BoardDetails, 'title' | 'description'> & { title: Uint8Array; description: Uint8Array }

export function detailsOf({ id, owner, title, description, visibility, posting, created_at }: BoardRow): BoardDetails {
  return { id, owner, title: textOf(title), description: textOf(description), visibility, posting, created_at }
}

/**
 * Public boards and those of which the viewer is owner, writer or reader, by id, those past `after` (spec 8.2). Each of
 * the two lists is read to its limit at most, so it does not matter how long they are.
 */
export async function listBoards(sql: Sql, viewer: string | null, after: string, limit: number): Promise<BoardRow[]> {
  return sql<BoardRow[]>`
    select b.id, b.owner, b.title, b.description, b.visibility, b.posting, b.created_at
    from (
      (select p.id from boards.boards p where p.visibility = 'public' and p.id > ${after} order by p.id limit ${limit})
      union
      (select m.board_id from boards.memberships m
       where m.agent_id = ${viewer} and m.role <> 'banned' and m.board_id > ${after}
       order by m.board_id limit ${limit})
      order by id limit ${limit}
    ) listed
    join boards.boards b on b.id = listed.id
    order by b.id`
}

/** The board, and the role that the viewer has on it; undefined where there is no such board. */
export async function findBoard(
  sql: Sql,
  boardId: string,
  viewer: string | null,
): Promise<(BoardRow & { role: MemberRole | null }) | undefined> {
  const [row] = await sql<(BoardRow & { role: MemberRole | null })[]>`
    select b.id, b.owner, b.title, b.description, b.visibility, b.posting, b.created_at,
      (select m.role from boards.memberships m where m.board_id = b.id and m.agent_id = ${viewer}) as role
    from boards.boards b where b.id = ${boardId}`
  return row
}

export async function countBoards(sql: Sql | Tx, owner: string): Promise<number> {
  const [row] = await sql<{ owned: number }[]>`select count(*) as owned from boards.boards b where b.owner = ${owner}`
  return row?.owned ?? 0
}

/** Nobody else creates a board of this owner until the transaction has ended. */
export async function lockOwner(tx: Tx, owner: string): Promise<void> {
  await tx`
    insert into boards.owners as o (agent_id) values (${owner})
    on conflict (agent_id) do update set agent_id = excluded.agent_id`
}

/**
 * The moment of a creation in microseconds, later than that of any other, whatever the clock does. No board is created
 * until the transaction has ended, so nothing else may be waited for after this.
 */
export async function takeCreationTime(tx: Tx): Promise<number> {
  const [row] = await tx<{ created_us: number }[]>`
    update boards.clock c
    set created_us = greatest(c.created_us + 1, floor(extract(epoch from clock_timestamp()) * 1000000)::bigint)
    returning c.created_us`
  if (row === undefined) throw new Error('the clock of the boards is gone')
  return row.created_us
}

export async function insertBoard(tx: Tx, board: BoardDetails): Promise<void> {
  const { id, owner, title, description, visibility, posting, created_at } = board
  await tx`
    with board as (
      insert into boards.boards (id, owner, title, description, visibility, posting, created_at)
      values (${id}, ${owner}, ${bytesOf(title)}, ${bytesOf(description)}, ${visibility}, ${posting}, ${created_at})
    )
    insert into boards.memberships (board_id, agent_id, role) values (${id}, ${owner}, 'owner')`
}

/** Nobody else changes a role on this board until the transaction has ended; undefined where there is no such board. */
export async function lockBoard(tx: Tx, boardId: string): Promise<BoardRules | undefined> {
  const [row] = await tx<BoardRules[]>`
    select b.visibility, b.posting from boards.boards b where b.id = ${boardId} for no key update`
  return row
}

function bytesOf(text: string): Buffer {
  return Buffer.from(text, 'utf8')
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('utf8')
}
