import type { Agent } from '@svc/contracts/resources.ts'
import type { Sql, Tx } from '@svc/postgres/database.ts'
import type { Fragment } from 'postgres'
import type { AgentRecord } from '../domain/agent.ts'
import type { CurrentSettings } from '../domain/settings.ts'

/** The part of an agent that messaging must know (libs/contracts, setMailbox). */
export type Mailbox = Pick<AgentRecord, 'agent_id' | 'inbox_policy' | 'revoked' | 'mailbox_version'>

export async function findAgents(sql: Sql, agentIds: readonly string[]): Promise<AgentRecord[]> {
  return sql<AgentRecord[]>`select ${columns(sql)} from identity.agents a where a.agent_id = any (${agentIds}::text[])`
}

export async function findAgentsByName(sql: Sql, names: readonly string[]): Promise<AgentRecord[]> {
  return sql<AgentRecord[]>`select ${columns(sql)} from identity.agents a where a.name = any (${names}::text[])`
}

/** Lists discoverable, active agents after the name `after`, in byte order of the name (spec 5.9, 7.9). */
export async function listAgents(sql: Sql, after: string, limit: number): Promise<Agent[]> {
  return sql<Agent[]>`
    select a.agent_id, a.name, 'ed25519:' || encode(a.public_key, 'hex') as pubkey, a.created_at, a.revoked
    from identity.agents a
    where a.discoverable and not a.revoked and a.name > ${after}
    order by a.name limit ${limit}`
}

/**
 * Waits only for a concurrent transaction that takes the same name or key.
 * @returns false if the name or the key is taken.
 * @param publicKey 32 raw bytes.
 */
export async function insertAgent(tx: Tx, agentId: string, name: string, publicKey: Uint8Array): Promise<boolean> {
  const { count } = await tx`
    insert into identity.agents (agent_id, name, public_key) values (${agentId}, ${name}, ${publicKey})
    on conflict do nothing`
  return count === 1
}

/** Reads and locks the agent's row until the transaction ends. */
export async function lockAgent(tx: Tx, agentId: string): Promise<AgentRecord | undefined> {
  const [record] = await tx<AgentRecord[]>`
    select ${columns(tx)} from identity.agents a where a.agent_id = ${agentId} for no key update`
  return record
}

/** Writes the settings of a locked row. Raises the version of the mailbox if the policy changes. */
export async function writeSettings(tx: Tx, agentId: string, settings: CurrentSettings): Promise<AgentRecord> {
  const [record] = await tx<AgentRecord[]>`
    update identity.agents a
    set inbox_policy = ${settings.inbox_policy},
      discoverable = ${settings.discoverable},
      mailbox_version = a.mailbox_version + (a.inbox_policy <> ${settings.inbox_policy})::integer
    where a.agent_id = ${agentId}
    returning ${columns(tx)}`
  if (record === undefined) throw new Error(`cannot write settings: there is no agent ${agentId}`)
  return record
}

/** Revokes an agent, which nothing can undo. Idempotent. Returns undefined if there is no such agent. */
export async function revokeAgent(sql: Sql | Tx, agentId: string): Promise<AgentRecord | undefined> {
  const [record] = await sql<AgentRecord[]>`
    update identity.agents a
    set revoked = true, mailbox_version = a.mailbox_version + (not a.revoked)::integer
    where a.agent_id = ${agentId}
    returning ${columns(sql)}`
  return record
}

/** Lists agents after the id `after` whose current mailbox version messaging has not confirmed, in order of id. */
export async function listUnpushed(sql: Sql, after: string, limit: number): Promise<Mailbox[]> {
  return sql<Mailbox[]>`
    select a.agent_id, a.inbox_policy, a.revoked, a.mailbox_version
    from identity.agents a
    where a.mailbox_pushed < a.mailbox_version and a.agent_id > ${after}
    order by a.agent_id limit ${limit}`
}

/** Records that messaging has confirmed this version. Keeps a later version if that is confirmed already. */
export async function markPushed(sql: Sql, agentId: string, version: number): Promise<void> {
  await sql`
    update identity.agents a set mailbox_pushed = ${version}
    where a.agent_id = ${agentId} and a.mailbox_pushed < ${version}`
}

/** Lists revoked agents whose webhook may still be open. */
export async function listOpenWebhooks(sql: Sql, limit: number): Promise<string[]> {
  const rows = await sql<{ agent_id: string }[]>`
    select a.agent_id from identity.agents a where a.revoked and not a.webhook_closed order by a.agent_id limit ${limit}`
  return rows.map(({ agent_id }) => agent_id)
}

/** Records that the webhook service knows of the revocation. */
export async function markWebhookClosed(sql: Sql, agentId: string): Promise<void> {
  await sql`update identity.agents a set webhook_closed = true where a.agent_id = ${agentId} and not a.webhook_closed`
}

/** The columns of an `AgentRecord`, from `identity.agents a`. */
function columns(sql: Sql | Tx): Fragment {
  return sql`
    a.agent_id, a.name, 'ed25519:' || encode(a.public_key, 'hex') as pubkey, a.created_at, a.revoked,
    a.inbox_policy, a.discoverable, a.mailbox_version, a.mailbox_pushed`
}
