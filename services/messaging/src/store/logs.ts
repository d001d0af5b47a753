import type { InboxPolicy } from '@svc/contracts/resources.ts'
import type { SuspensionChange } from '@svc/contracts/suspension.ts'
import type { Sql, Tx } from '@svc/postgres/database.ts'
import { textList } from '@svc/postgres/text-list.ts'

/** Opens the logs of agents that have none. @param waitMs the longest wait for each log that another transaction is opening. */
export async function openLogs(sql: Sql, agentIds: readonly string[], waitMs: number): Promise<void> {
  await sql`select messaging.open_logs(${[...agentIds]}::text[], ${waitMs}::integer)`
}

/** Locks the log of an agent until the transaction ends. Creates the log if the agent has none yet. */
export async function lockLog(tx: Tx, agentId: string): Promise<{ head: number }> {
  await tx`
    insert into messaging.logs (id, head, skipped, revoked, standing_version)
    select ${agentId}, f.head, f.head, e.erased, case when e.erased then -1 else 0 end
    from messaging.first_head() f (head), messaging.is_erased(${agentId}) e (erased)
    on conflict (id) do nothing`
  const [log] = await tx<{ head: number }[]>`select l.head from messaging.logs l where l.id = ${agentId} for update`
  if (log === undefined) throw new Error('the log was not found, although logs are never deleted')
  return log
}

/**
 * Makes every append that was decided before this transaction check its decision again, and sets the position of the last
 * entry. The caller holds the lock of the log, so every later append sees the change.
 */
export async function raiseStanding(tx: Tx, agentId: string, head: number): Promise<void> {
  await tx`
    update messaging.logs l set standing_version = l.standing_version + 1, head = ${head} where l.id = ${agentId}`
}

/** The number of changes that decide what the agent receives: its contacts, its policy, its revocation. */
export async function standingVersion(sql: Sql, agentId: string): Promise<number> {
  const [log] = await sql<{ version: number }[]>`
    select l.standing_version as version from messaging.logs l where l.id = ${agentId}`
  return log?.version ?? 0
}

interface Mailbox {
  agentId: string
  policy: InboxPolicy
  revoked: boolean
  version: number
}

/**
 * Applies a mailbox, unless the same or a higher version was applied already. A log created here starts at standing version 1,
 * because an append that found no log was decided on version 0.
 */
export async function applyMailbox(tx: Tx, { agentId, policy, revoked, version }: Mailbox): Promise<void> {
  await tx`
    insert into messaging.logs as l
      (id, head, skipped, policy, revoked, revoked_at, mailbox_version, standing_version)
    select ${agentId}, f.head, f.head, ${policy}, ${revoked}::boolean, case when ${revoked}::boolean then clock_timestamp() end,
      ${version}, 1
    from messaging.first_head() f (head)
    on conflict (id) do update set
      policy = excluded.policy,
      revoked = excluded.revoked,
      revoked_at = case when excluded.revoked then coalesce(l.revoked_at, excluded.revoked_at) end,
      mailbox_version = excluded.mailbox_version,
      standing_version = l.standing_version
        + case when (l.policy, l.revoked) is distinct from (excluded.policy, excluded.revoked) then 1 else 0 end
    where l.mailbox_version < excluded.mailbox_version`
}

/** Applies a suspension, unless the same or a higher version was applied already. It has no part in where messages go. */
export async function applySuspension(tx: Tx, { agent_id, suspension, version }: SuspensionChange): Promise<void> {
  const [isSuspended, until] = [suspension !== null, suspension?.until ?? null]
  await tx`
    insert into messaging.logs as l (id, head, skipped, suspended_until, suspended_at, suspension_version)
    select ${agent_id}, f.head, f.head,
      case when ${isSuspended}::boolean then coalesce(to_timestamp(${until}::bigint), 'infinity') end,
      case when ${isSuspended}::boolean then clock_timestamp() end, ${version}
    from messaging.first_head() f (head)
    on conflict (id) do update set
      suspended_until = excluded.suspended_until,
      suspended_at = excluded.suspended_at,
      suspension_version = excluded.suspension_version
    where l.suspension_version < excluded.suspension_version`
}

/** The logs whose head is not the expected one, by their place in the list. The head is 0 if there is no log. */
export async function listMoved(
  sql: Sql,
  agentIds: readonly string[],
  heads: readonly number[],
): Promise<{ index: number; head: number }[]> {
  return sql<{ index: number; head: number }[]>`
    select u.ordinal - 1 as index, coalesce(l.head, 0) as head
    from unnest(${textList(sql, agentIds)}, string_to_array(${heads.join(' ')}::text, ' ')::bigint[])
      with ordinality u (id, expected, ordinal)
    left join messaging.logs l on l.id = u.id
    where coalesce(l.head, 0) is distinct from u.expected
    order by u.ordinal`
}

/** The head of each log and whether its agent is revoked or suspended, in the order of the ids. The head is 0 if there is no log. */
export async function listHeads(sql: Sql, agentIds: readonly string[]): Promise<{ head: number; revoked: boolean }[]> {
  return sql<{ head: number; revoked: boolean }[]>`
    select coalesce(l.head, 0) as head,
      coalesce(l.revoked or l.suspended_until > statement_timestamp(), l.revoked, false) as revoked
    from unnest(${[...agentIds]}::text[]) with ordinality u (id, ordinal)
    left join messaging.logs l on l.id = u.id
    order by u.ordinal`
}
