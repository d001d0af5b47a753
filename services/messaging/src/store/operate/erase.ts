import type { Sql, Tx } from '@svc/postgres/database.ts'

/** Deletes messages that an agent sent or received, at most `limit`. @returns how many. */
export async function eraseMessages(tx: Tx, agentId: string, limit: number): Promise<number> {
  const [row] = await tx<
    { messages: number }[]
  >`select messaging.erase_messages(${agentId}, ${limit}::integer) as messages`
  return row?.messages ?? 0
}

/**
 * Deletes the agent's contacts and pending requests, and its place among the contacts of others. Its log, its votes and its events
 * of posts stay under the tombstone: upvotes count the votes, and the price of a post counts the logs with its event.
 */
export async function eraseRest(
  tx: Tx,
  agentId: string,
  tombstone: string,
): Promise<{ contacts: number; votes: number; events: number }> {
  await tx`
    insert into messaging.erased (key) select messaging.id_key(${agentId}, s.secret) from messaging.id_secret s
    on conflict do nothing`
  // Locks the log before anything else, as an append does.
  await tx`update messaging.logs l set id = ${tombstone}, policy = 'closed', revoked = true where l.id = ${agentId}`
  await tx`delete from messaging.pending p where p.recipient = ${agentId} or p.sender = ${agentId}`
  const contacts = await tx`delete from messaging.contacts c where c.owner = ${agentId} or c.other = ${agentId}`
  const votes = await tx`update messaging.votes v set voter = ${tombstone} where v.voter = ${agentId}`
  const events = await tx`update messaging.entries e set log = ${tombstone} where e.log = ${agentId}`
  return { contacts: contacts.count, votes: votes.count, events: events.count }
}

/** Returns those of the given messages that are not stored. */
export async function findMissing(sql: Sql, ids: readonly string[]): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select i.id from unnest(${[...ids]}::text[]) i (id)
    where not exists (select from messaging.find_message(i.id))`
  return rows.map(({ id }) => id)
}
