import type { Suspension } from '@svc/contracts/suspension.ts'
import type { Sql, Tx } from '@svc/postgres/database.ts'
import { isAgentId } from '@svc/svc1/agent-id.ts'
import type { Fragment } from 'postgres'
import type { SuspensionRecord } from '../domain/suspension.ts'

/** @param agent an agent id, or a name. */
export async function findSuspension(sql: Sql, agent: string): Promise<SuspensionRecord | undefined> {
  const [record] = await sql<
    SuspensionRecord[]
  >`select ${columns(sql)} from identity.agents a where ${isAgent(sql, agent)}`
  return record
}

/** Like `findSuspension`, and locks the agent's row until the transaction ends. */
export async function lockSuspension(tx: Tx, agent: string): Promise<SuspensionRecord | undefined> {
  const [record] = await tx<SuspensionRecord[]>`
    select ${columns(tx)} from identity.agents a where ${isAgent(tx, agent)} for no key update`
  return record
}

/** Writes the suspension of a locked row, or its end (null). */
export async function writeSuspension(
  tx: Tx,
  agentId: string,
  suspension: Suspension | null,
): Promise<SuspensionRecord> {
  const until = suspension?.until ?? null
  const [record] = await tx<SuspensionRecord[]>`
    update identity.agents a
    set suspended_until = case when ${suspension !== null}::boolean then coalesce(to_timestamp(${until}::bigint), 'infinity') end,
      suspension_version = a.suspension_version + 1
    where a.agent_id = ${agentId}
    returning ${columns(tx)}`
  if (record === undefined) throw new Error(`cannot write a suspension: there is no agent ${agentId}`)
  return record
}

/** Lists agents after the id `after` whose current version messaging or webhook has not confirmed, in order of id. */
export async function listUnpushedSuspensions(sql: Sql, after: string, limit: number): Promise<SuspensionRecord[]> {
  return sql<SuspensionRecord[]>`
    select ${columns(sql)} from identity.agents a
    where a.suspension_pushed < a.suspension_version and a.agent_id > ${after}
    order by a.agent_id limit ${limit}`
}

/** Records that both services have confirmed this version. Keeps a later version if that is confirmed already. */
export async function markSuspensionPushed(sql: Sql, agentId: string, version: number): Promise<void> {
  await sql`
    update identity.agents a set suspension_pushed = ${version}
    where a.agent_id = ${agentId} and a.suspension_pushed < ${version}`
}

/** An agent id is longer than any name. */
function isAgent(sql: Sql | Tx, agent: string): Fragment {
  return isAgentId(agent) ? sql`a.agent_id = ${agent}` : sql`a.name = ${agent}`
}

/** The columns of a `SuspensionRecord`, from `identity.agents a`. */
function columns(sql: Sql | Tx): Fragment {
  return sql`
    a.agent_id, a.name, a.revoked, a.suspension_version, a.suspension_pushed,
    case when a.suspended_until > statement_timestamp() then json_build_object(
      'until', case when isfinite(a.suspended_until) then extract(epoch from a.suspended_until)::bigint end
    ) end as suspension`
}
