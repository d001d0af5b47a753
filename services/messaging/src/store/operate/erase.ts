import type { Sql, Tx } from '@svc/postgres/database.ts'

/** Deletes messages that an agent sent or received, at most `limit`. @returns how many. */
export async function eraseMessages(tx: Tx, agentId: string, limit: number): Promise<number> {
  const [row] = await tx<
    { messages: number }[]
  >`select messaging.erase_messages(${agentId}, ${limit}::integer) as messages`
  return row?.messages ?? 0
}

/** Deletes the agent's contacts, pending requests and log, and its entries in other contacts. Its votes stay, as the tombstone's. */
export async function eraseRest(
  tx: Tx,
  agentId: string,
  tombstone: string,
): Promise<{ contacts: number; votes: number; events: number }> {
  await tx`
    insert into messaging.erased (key) select messaging.id_key(${agentId}, s.secret) from messaging.id_secret s
    on conflict do nothing`
  const log = await tx`select from messaging.logs l where l.id = ${agentId} for update`
  await tx`delete from messaging.pending p where p.recipient = ${agentId} or p.sender = ${agentId}`
  const contacts = await tx`delete from messaging.contacts c where c.owner = ${agentId} or c.other = ${agentId}`
  const votes = await tx`update messaging.votes v set voter = ${tombstone} where v.voter = ${agentId}`
  const events = await tx`delete from messaging.entries e where e.log = ${agentId}`
  if (log.count > 0) await tx`delete from messaging.logs l where l.id = ${agentId}`
  return { contacts: contacts.count, votes: votes.count, events: events.count }
}

/** The messages, of these, that are not stored. */
export async function findMissing(sql: Sql, ids: readonly string[]): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select i.id from unnest(${[...ids]}::text[]) i (id)
    where not exists (select from messaging.find_message(i.id))`
  return rows.map(({ id }) => id)
}
