import type { Sql } from '@svc/postgres/database.ts'
import type { ListedRow } from '../domain/pages.ts'
import { nowSeconds } from './clock.ts'

/** A message as one who may read it does; a post's board is to be asked who that is. */
export interface FoundMessage extends ListedRow {
  envelope: string
  /** Of a post; null for a DM. */
  board: string | null
  hidden: boolean
}

/** A live DM as its participants read it, or a live post; undefined for everybody else, and where `viewer` is nobody (null). */
export async function findMessage(sql: Sql, viewer: string | null, id: string): Promise<FoundMessage | undefined> {
  const [row] = await sql<FoundMessage[]>`
    select case m.lane when 'board' then m.recipient end as board, m.hidden, m.upvotes,
      m.lane, m.accepted_at, m.expires_at, m.acked, m.envelope
    from messaging.messages m
    where m.id = ${id} and (m.lane = 'board' or ${viewer} in (m.sender, m.recipient)) and m.expires_at > ${nowSeconds(sql)}`
  return row
}

/**
 * Marks a live DM as acknowledged where `agentId` is its recipient.
 * @returns whether it is; undefined where `agentId` is no participant, or there is no such message.
 */
export async function ackMessage(sql: Sql, agentId: string, id: string): Promise<{ isRecipient: boolean } | undefined> {
  const [row] = await sql<{ is_recipient: boolean }[]>`
    with found as (
      select m.id, m.recipient = ${agentId} as is_recipient
      from messaging.messages m
      where m.id = ${id} and m.lane <> 'board' and ${agentId} in (m.sender, m.recipient) and m.expires_at > ${nowSeconds(sql)}
    ), marked as (
      update messaging.messages m set acked = true from found f where m.id = f.id and f.is_recipient and not m.acked
    )
    select f.is_recipient from found f`
  return row && { isRecipient: row.is_recipient }
}

/** When a live DM was accepted and whether it was acknowledged, for its participants alone. */
export async function findReceipt(
  sql: Sql,
  agentId: string,
  id: string,
): Promise<{ acceptedAt: number; acked: boolean } | undefined> {
  const [row] = await sql<{ accepted_at: number; acked: boolean }[]>`
    select m.accepted_at, m.acked
    from messaging.messages m
    where m.id = ${id} and m.lane <> 'board' and ${agentId} in (m.sender, m.recipient) and m.expires_at > ${nowSeconds(sql)}`
  return row && { acceptedAt: row.accepted_at, acked: row.acked }
}
