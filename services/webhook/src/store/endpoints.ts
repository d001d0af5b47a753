import { type Batcher, createBatcher } from '@svc/batching/batcher.ts'
import type { WebhookState } from '@svc/contracts/resources.ts'
import type { SuspensionChange } from '@svc/contracts/suspension.ts'
import type { Database, Sql, Tx } from '@svc/postgres/database.ts'
import type { Sealed } from '../domain/secret-box.ts'

interface Configuration extends Sealed {
  readonly id: string
  readonly url: string
  /** Events up to this cursor are older than the configuration. */
  readonly after: number
}

/**
 * Says whether agents have a webhook. Concurrent questions share a query. A webhook whose transaction is not committed
 * does not count.
 */
export function createIsConfigured(database: Database): Batcher<string, boolean> {
  return createBatcher<string, boolean>({
    name: 'webhook.is-configured',
    run: async (agentIds) => {
      const rows = await database.run(
        (sql) => sql<{ agent_id: string }[]>`
          select e.agent_id from webhook.endpoints e
          where e.agent_id = any (${[...new Set(agentIds)]}::text[]) and e.configuration is not null`,
      )
      const configured = new Set(rows.map((row) => row.agent_id))
      return agentIds.map((agentId) => configured.has(agentId))
    },
  })
}

interface LockedEndpoint {
  configuration: string | null
  revoked: boolean
}

/**
 * Locks the agent's endpoint, and creates it if there is none. Until the transaction ends, the jobs of the agent cannot
 * change.
 */
export async function lockEndpoint(tx: Tx, agentId: string): Promise<LockedEndpoint> {
  await tx`insert into webhook.endpoints (agent_id) values (${agentId}) on conflict (agent_id) do nothing`
  const endpoint = await lockExisting(tx, agentId)
  if (endpoint === undefined)
    throw new Error(`the endpoint of agent ${agentId} is missing: endpoints must never be deleted`)
  return endpoint
}

/** Like `lockEndpoint`, but returns undefined if the agent has no endpoint. */
export async function lockExisting(tx: Tx, agentId: string): Promise<LockedEndpoint | undefined> {
  const [endpoint] = await tx<LockedEndpoint[]>`
    select e.configuration, e.revoked from webhook.endpoints e where e.agent_id = ${agentId} for no key update`
  return endpoint
}

/** Replaces the configuration of the locked endpoint, or removes it if undefined. Its jobs are void from the commit on. */
export async function replaceConfiguration(
  tx: Tx,
  agentId: string,
  { configuration: before }: LockedEndpoint,
  next: Configuration | undefined,
): Promise<void> {
  if (before !== null) {
    await tx`insert into webhook.retired (configuration) values (${before}) on conflict (configuration) do nothing`
  }
  await tx`
    update webhook.endpoints e
    set configuration = ${next?.id ?? null}, url = ${next?.url ?? null}, key_id = ${next?.keyId ?? null},
      sealed = ${next?.sealed ?? null}, after_cursor = ${next?.after ?? 0}, reconciled = 0, failed = 0, due_at = null,
      last_error = null, last_error_at = null
    where e.agent_id = ${agentId}`
}

/** Prevents any further webhook of the agent. */
export async function markRevoked(tx: Tx, agentId: string): Promise<void> {
  await tx`update webhook.endpoints e set revoked = true where e.agent_id = ${agentId}`
}

/** Pauses the locked endpoint, or ends its pause, unless the same or a higher version was applied already. */
export async function writePause(tx: Tx, { agent_id, suspension, version }: SuspensionChange): Promise<void> {
  const until = suspension?.until ?? null
  await tx`
    with change (paused_until) as (
      select case when ${suspension !== null}::boolean then coalesce(to_timestamp(${until}::bigint), 'infinity') end
    )
    update webhook.endpoints e
    set paused_until = c.paused_until, suspension_version = ${version}, due_at = webhook.not_before(
      (select min(j.due_at) from webhook.jobs j where j.configuration = e.configuration and j.due_at is not null), c.paused_until
    )
    from change c where e.agent_id = ${agent_id} and e.suspension_version < ${version}`
}

/** Reads the agent's webhook and its counts; undefined if none is set. */
export async function findEndpoint(sql: Sql, agentId: string): Promise<WebhookState | undefined> {
  const [state] = await sql<WebhookState[]>`
    select e.url, e.failed, (
      select count(*) from webhook.jobs j where j.configuration = e.configuration and j.due_at is not null
    ) as pending
    from webhook.endpoints e where e.agent_id = ${agentId} and e.configuration is not null`
  return state
}

/** Seconds for which the oldest claimable endpoint has been due; 0 if none is due. */
export async function oldestDueSeconds(sql: Sql): Promise<number> {
  const [row] = await sql<{ seconds: number }[]>`
    select greatest(0, extract(epoch from clock_timestamp() - least(
      (select min(e.due_at) from webhook.endpoints e where not e.struggling and e.due_at <= statement_timestamp()),
      (select min(e.due_at) from webhook.endpoints e where e.struggling and e.due_at <= statement_timestamp())
    )))::double precision as seconds`
  return row?.seconds ?? 0
}

export interface SealedEndpoint extends Sealed {
  readonly agentId: string
  readonly configuration: string
}

/** A place in the order of key ids, then of agents. */
export interface SealedPlace {
  readonly keyId: string
  readonly agentId: string
}

/** Lists the endpoints after a place whose secret is sealed with a key other than this one. */
export async function listSealedOtherwise(
  sql: Sql,
  keyId: string,
  after: SealedPlace,
  limit: number,
): Promise<SealedEndpoint[]> {
  return sql<SealedEndpoint[]>`
    (select e.agent_id as "agentId", e.configuration, e.key_id as "keyId", e.sealed
     from webhook.endpoints e where e.key_id < ${keyId} and (e.key_id, e.agent_id) > (${after.keyId}, ${after.agentId})
     order by e.key_id, e.agent_id limit ${limit})
    union all
    (select e.agent_id, e.configuration, e.key_id, e.sealed
     from webhook.endpoints e where e.key_id > ${keyId} and (e.key_id, e.agent_id) > (${after.keyId}, ${after.agentId})
     order by e.key_id, e.agent_id limit ${limit})
    limit ${limit}`
}

/**
 * Stores secrets that were sealed again, unless the configuration has changed meanwhile. Sends base64, because the
 * driver cannot send arrays of bytes.
 */
export async function replaceSealed(sql: Sql, endpoints: readonly SealedEndpoint[]): Promise<void> {
  await sql`
    update webhook.endpoints e set key_id = u.key_id, sealed = decode(u.sealed, 'base64')
    from unnest(
      ${endpoints.map(({ agentId }) => agentId)}::text[], ${endpoints.map(({ configuration }) => configuration)}::uuid[],
      ${endpoints.map(({ keyId }) => keyId)}::text[], ${endpoints.map(({ sealed }) => sealed.toString('base64'))}::text[]
    ) as u (agent_id, configuration, key_id, sealed)
    where e.agent_id = u.agent_id and e.configuration = u.configuration`
}
