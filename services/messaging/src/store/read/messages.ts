import type { Sql } from '@svc/postgres/database.ts'
import type { ListedRow } from '../../domain/pages.ts'
import { nowSeconds } from '../clock.ts'
import { hasId } from '../place.ts'

/** A message as its readers see it. For a post, the boards service decides who they are. */
interface FoundMessage extends ListedRow {
  envelope: string
  /** The board of a post; null for a DM. */
  board: string | null
  hidden: boolean
}

/** A live post, or a live DM if `viewer` is a participant, unless it is taken down. An anonymous viewer (null) gets posts only. */
export async function findMessage(sql: Sql, viewer: string | null, id: string): Promise<FoundMessage | undefined> {
  const [row] = await sql<FoundMessage[]>`
    select case m.lane when 'board' then m.recipient end as board, m.hidden, m.upvotes,
      m.lane, m.accepted_at, m.expires_at, m.acked, m.envelope
    from messaging.messages m
    where ${hasId(sql, id)} and (m.lane = 'board' or ${viewer} in (m.sender, m.recipient)) and m.expires_at > ${nowSeconds(sql)}
      and not m.taken_down`
  return row
}

/**
 * Marks a live DM as acknowledged if `agentId` is its recipient.
 * @returns whether it is; undefined if `agentId` is not a participant, or there is no such message.
 */
export async function ackMessage(sql: Sql, agentId: string, id: string): Promise<{ isRecipient: boolean } | undefined> {
  const [row] = await sql<{ is_recipient: boolean }[]>`
    with found as (
      select m.recipient = ${agentId} as is_recipient
      from messaging.messages m
      where ${hasId(sql, id)} and m.lane <> 'board' and ${agentId} in (m.sender, m.recipient) and m.expires_at > ${nowSeconds(sql)}
        and not m.taken_down
    ), marked as (
      update messaging.messages m set acked = true
      where ${hasId(sql, id)} and not m.acked and exists (select from found f where f.is_recipient)
    )
    select f.is_recipient from found f`
  return row && { isRecipient: row.is_recipient }
}

/** When a live DM was accepted and whether it was acknowledged; undefined if `agentId` is not a participant. */
export async function findReceipt(
  sql: Sql,
  agentId: string,
  id: string,
): Promise<{ acceptedAt: number; acked: boolean } | undefined> {
  const [row] = await sql<{ accepted_at: number; acked: boolean }[]>`
    select m.accepted_at, m.acked
    from messaging.messages m
    where ${hasId(sql, id)} and m.lane <> 'board' and ${agentId} in (m.sender, m.recipient) and m.expires_at > ${nowSeconds(sql)}
      and not m.taken_down`
  return row && { acceptedAt: row.accepted_at, acked: row.acked }
}
