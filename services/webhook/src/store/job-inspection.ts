/** Statements of the operator's tool about jobs (`svc admin jobs`). */
import type { Sql, Tx } from '@svc/postgres/database.ts'

interface InspectedEndpoint {
  agent_id: string
  url: string | null
  pending: number
  due: number
  failed: number
  retryable: number
  oldest_due_seconds: number
  struggling: boolean
  last_error: string | null
  last_error_at: number | null
}

/** Lists endpoints with pending or failed jobs, by agent. With `only`, lists that agent's endpoint in any case. */
export async function listInspected(
  tx: Tx,
  { only, after, limit }: { only: string | null; after: string; limit: number },
): Promise<InspectedEndpoint[]> {
  return tx<InspectedEndpoint[]>`
    select e.agent_id, e.url, e.failed, e.struggling, j.pending, j.due, j.retryable, e.last_error,
      floor(extract(epoch from e.last_error_at))::float8 as last_error_at,
      coalesce(greatest(extract(epoch from statement_timestamp() - j.oldest), 0), 0)::float8 as oldest_due_seconds
    from webhook.endpoints e
    -- While the endpoint is paused, no job is due.
    cross join lateral (
      select case when e.paused_until > statement_timestamp() then '-infinity' else statement_timestamp() end as moment
    ) p
    cross join lateral (
      select count(*) filter (where j.due_at is not null) as pending,
        count(*) filter (where j.due_at <= p.moment and j.lease is null) as due,
        min(j.due_at) filter (where j.due_at <= p.moment and j.lease is null) as oldest,
        count(*) filter (
          where j.ended_at is not null and j.body is not null and j.held is null
            and j.expires_at > extract(epoch from statement_timestamp())
        ) as retryable
      from webhook.jobs j where j.configuration = e.configuration
    ) j
    where (${only}::text is null and e.agent_id > ${after} and (e.due_at is not null or e.failed > 0)) or e.agent_id = ${only}
    order by e.agent_id limit ${limit}`
}

interface Retry {
  agentId: string | null
  messageId: string | null
  limit: number
  dryRun: boolean
}

/** Makes failed jobs due again. @returns how many, or how many it would make due. */
export async function retryFailed(sql: Sql | Tx, { agentId, messageId, limit, dryRun }: Retry): Promise<number> {
  const [row] = await sql<{ jobs: number }[]>`
    select webhook.retry_failed(${agentId}, ${messageId}, ${limit}, ${dryRun}) as jobs`
  return row?.jobs ?? 0
}
