import type { Sql, Tx } from '@svc/postgres/database.ts'
import { nowSeconds } from './clock.ts'
import { hasId } from './place.ts'

/** A live post, with the voter's vote. */
interface VotedPost {
  boardId: string
  author: string
  hidden: boolean
  /** The agent has a vote that is counted. */
  voted: boolean
}

/** Undefined if there is no live post with this id, or it is taken down. A DM is not a post. */
export async function findPost(sql: Sql, id: string, voter: string): Promise<VotedPost | undefined> {
  const [row] = await sql<{ recipient: string; sender: string; hidden: boolean; voted: boolean }[]>`
    select m.recipient, m.sender, m.hidden,
      exists (
        select from messaging.votes v where v.message = messaging.place_of(${id}) and v.voter = ${voter}
      ) as voted
    from messaging.messages m
    where ${hasId(sql, id)} and m.lane = 'board' and not m.taken_down and m.expires_at > ${nowSeconds(sql)}`
  return row && { boardId: row.recipient, author: row.sender, hidden: row.hidden, voted: row.voted }
}

/** Agents whose logs have an event of the post: its subscribers when it was accepted. Leaves out the board's own log, the feed. */
export async function listReceivers(sql: Sql, boardId: string, id: string): Promise<string[]> {
  const rows = await sql<{ log: string }[]>`
    select e.log from messaging.entries e
    where e.message = messaging.place_of(${id}) and e.kind = 'board' and e.log <> ${boardId}`
  return rows.map(({ log }) => log)
}

/**
 * Locks a live post until the transaction ends, so that votes, hiding and restoring are serialized. A post that is taken down is
 * not found, so nobody but an operator can show it again.
 * @returns whether it is hidden; undefined if the board has no such live post.
 */
export async function lockPost(tx: Tx, boardId: string, id: string): Promise<{ hidden: boolean } | undefined> {
  const [row] = await tx<{ hidden: boolean }[]>`
    select m.hidden from messaging.messages m
    where ${hasId(tx, id)} and m.recipient = ${boardId} and m.lane = 'board' and not m.taken_down
      and m.expires_at > ${nowSeconds(tx)}
    for no key update`
  return row
}

/** Hides or restores a post. The caller holds its lock, and has checked that the flag changes. Flag and entry change together. */
export async function setHidden(tx: Tx, id: string, hidden: boolean): Promise<void> {
  if (hidden) {
    await tx`
      with post as (
        update messaging.messages m set hidden = true where ${hasId(tx, id)} returning m.recipient, m.position
      )
      delete from messaging.entries e using post p
      where e.message = messaging.place_of(${id}) and e.log = p.recipient and e.kind = 'board' and e.position = p.position`
  } else {
    await tx`
      with post as (
        update messaging.messages m set hidden = false where ${hasId(tx, id)}
        returning m.recipient, m.position, m.place, m.thread_id, m.expires_at
      )
      insert into messaging.entries (log, kind, position, message, thread_id, expires_at)
      select p.recipient, 'board', p.position, p.place, p.thread_id, p.expires_at from post p`
  }
}
