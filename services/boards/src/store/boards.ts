import type { BoardDetails, MemberRole } from '@svc/contracts/resources.ts'
import type { Sql, Tx } from '@svc/postgres/database.ts'
import type { BoardRules } from '../domain/access.ts'

/** `title` and `description` are UTF-8 bytes, because they may hold U+0000 and a Postgres text cannot. */
type BoardRow = Omit<BoardDetails, 'title' | 'description'> & { title: Uint8Array; description: Uint8Array }

export function detailsOf({ id, owner, title, description, visibility, posting, created_at }: BoardRow): BoardDetails {
  return { id, owner, title: textOf(title), description: textOf(description), visibility, posting, created_at }
}

/**
 * Lists the boards after the id `after` that are public, or of which the viewer is owner, writer or reader, by id
 * (spec 8.2). Reads at most `limit` rows of either list and those taken down between them, so the length of the lists does not
 * matter.
 */
export async function listBoards(sql: Sql, viewer: string | null, after: string, limit: number): Promise<BoardRow[]> {
  return sql<BoardRow[]>`
    select b.id, b.owner, b.title, b.description, b.visibility, b.posting, b.created_at
    from (
      (select p.id from boards.boards p
       where p.visibility = 'public' and not p.taken_down and p.id > ${after} order by p.id limit ${limit})
      union
      (select m.board_id from boards.memberships m join boards.boards p on p.id = m.board_id and not p.taken_down
       where m.agent_id = ${viewer} and m.role <> 'banned' and m.board_id > ${after}
       order by m.board_id limit ${limit})
      order by id limit ${limit}
    ) listed
    join boards.boards b on b.id = listed.id
    order by b.id`
}

/** Finds a board and the viewer's role on it; undefined if there is no such board, or it is taken down. */
export async function findBoard(
  sql: Sql,
  boardId: string,
  viewer: string | null,
): Promise<(BoardRow & { role: MemberRole | null }) | undefined> {
  const [row] = await sql<(BoardRow & { role: MemberRole | null })[]>`
    select b.id, b.owner, b.title, b.description, b.visibility, b.posting, b.created_at,
      (select m.role from boards.memberships m where m.board_id = b.id and m.agent_id = ${viewer}) as role
    from boards.boards b where b.id = ${boardId} and not b.taken_down`
  return row
}

/** Counts the boards of an owner, those taken down included. */
export async function countBoards(sql: Sql | Tx, owner: string): Promise<number> {
  const [row] = await sql<{ owned: number }[]>`select count(*) as owned from boards.boards b where b.owner = ${owner}`
  return row?.owned ?? 0
}

/** Locks the owner until the transaction ends, so that no concurrent transaction creates a board of this owner. */
export async function lockOwner(tx: Tx, owner: string): Promise<void> {
  await tx`
    insert into boards.owners as o (agent_id) values (${owner})
    on conflict (agent_id) do update set agent_id = excluded.agent_id`
}

/**
 * Takes a creation time in microseconds that is later than that of every other board, even if the clock is set back. It
 * blocks the creation of all boards until the transaction ends, so wait for nothing else after this call.
 */
export async function takeCreationTime(tx: Tx): Promise<number> {
  const [row] = await tx<{ created_us: number }[]>`
    update boards.clock c
    set created_us = greatest(c.created_us + 1, floor(extract(epoch from clock_timestamp()) * 1000000)::bigint)
    returning c.created_us`
  if (row === undefined) throw new Error('boards.clock must have one row')
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

/** Locks the roles of a board until the transaction ends. Returns undefined if there is no such board. */
export async function lockBoard(tx: Tx, boardId: string): Promise<BoardRules | undefined> {
  const [row] = await tx<BoardRules[]>`
    select b.visibility, b.posting from boards.boards b where b.id = ${boardId} for no key update`
  return row
}

/** Locks the roles of all boards of an owner until the transaction ends. @returns the number of the boards. */
export async function lockBoardsOf(tx: Tx, owner: string): Promise<number> {
  const rows = await tx`select b.id from boards.boards b where b.owner = ${owner} order by b.id for no key update`
  return rows.length
}

function bytesOf(text: string): Buffer {
  return Buffer.from(text, 'utf8')
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('utf8')
}
