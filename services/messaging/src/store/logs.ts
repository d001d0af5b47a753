import type { InboxPolicy } from '@svc/contracts/resources.ts'
import type { Sql, Tx } from '@svc/postgres/database.ts'

/** Opens the logs of agents that have none yet. @param waitMs at most for each that another transaction is opening. */
export async function openLogs(sql: Sql, agentIds: readonly string[], waitMs: number): Promise<void> {
  await sql`select messaging.open_logs(${[...agentIds]}::text[], ${waitMs}::integer)`
}

/** Locks the log of an agent, making it where the agent has none yet, until the transaction ends. */
export async function lockLog(tx: Tx, agentId: string): Promise<{ head: number }> {
  await tx`insert into messaging.logs (id) values (${agentId}) on conflict (id) do nothing`
  const [log] = await tx<{ head: number }[]>`select l.head from messaging.logs l where l.id = ${agentId} for update`
  if (log === undefined) throw new Error('a log is never deleted')
  return log
}

/**
 * Makes every append that was decided before this transaction look at its ground again, and sets the position of the last entry.
 * The caller holds the lock of the log: what was not appended before will see what changed.
 */
export async function raiseStanding(tx: Tx, agentId: string, head: number): Promise<void> {
  await tx`
    update messaging.logs l set standing_version = l.standing_version + 1, head = ${head} where l.id = ${agentId}`
}

export interface Mailbox {
  agentId: string
  policy: InboxPolicy
  revoked: boolean
  version: number
}

/**
 * Applies a mailbox, unless one of the same or a higher version was applied. A log that is made here has another
 * standing than 0, which is what an append decided on that found no log.
 */
export async function applyMailbox(tx: Tx, { agentId, policy, revoked, version }: Mailbox): Promise<void> {
  await tx`
    insert into messaging.logs as l (id, policy, revoked, mailbox_version, standing_version)
    values (${agentId}, ${policy}, ${revoked}, ${version}, 1)
    on conflict (id) do update set
      policy = excluded.policy,
      revoked = excluded.revoked,
      mailbox_version = excluded.mailbox_version,
      standing_version = l.standing_version
        + case when (l.policy, l.revoked) is distinct from (excluded.policy, excluded.revoked) then 1 else 0 end
    where l.mailbox_version < excluded.mailbox_version`
}

/** How far each log goes and whether its agent was revoked, in the order of the ids; 0 where there is no log. */
export async function listHeads(sql: Sql, agentIds: readonly string[]): Promise<{ head: number; revoked: boolean }[]> {
  return sql<{ head: number; revoked: boolean }[]>`
    select coalesce(l.head, 0) as head, coalesce(l.revoked, false) as revoked
    from unnest(${[...agentIds]}::text[]) with ordinality u (id, ordinal)
    left join messaging.logs l on l.id = u.id
    order by u.ordinal`
}
