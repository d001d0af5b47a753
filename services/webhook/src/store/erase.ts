import type { Sql, Tx } from '@svc/postgres/database.ts'

/** Deletes the agent's webhook and its jobs. Its row stays as the tombstone's, revoked. */
export async function eraseAgent(tx: Tx, agentId: string, tombstone: string): Promise<{ jobs: number }> {
  const [endpoint] = await tx<{ configuration: string | null }[]>`
    select e.configuration from webhook.endpoints e where e.agent_id = ${agentId} for update`
  const jobs = await tx`delete from webhook.jobs j where j.agent_id = ${agentId}`
  if (endpoint?.configuration != null)
    await tx`insert into webhook.retired (configuration) values (${endpoint.configuration}) on conflict do nothing`
  await tx`
    update webhook.endpoints e
    set agent_id = ${tombstone}, configuration = null, url = null, key_id = null, sealed = null, due_at = null,
      last_error = null, last_error_at = null, proven = null, revoked = true
    where e.agent_id = ${agentId}`
  return { jobs: jobs.count }
}

export interface JobPlace {
  readonly configuration: string
  readonly messageId: string
}

/** Jobs that still have a text, after a place. */
export async function listTexts(sql: Sql, after: JobPlace, limit: number): Promise<JobPlace[]> {
  return sql<JobPlace[]>`
    select j.configuration, j.message_id as "messageId" from webhook.jobs j
    where (j.configuration, j.message_id) > (${after.configuration}::uuid, ${after.messageId}) and j.body is not null
    order by j.configuration, j.message_id limit ${limit}`
}

/** Ends the jobs of these messages and deletes their texts. The rows stay, so that no event makes them again. @returns how many. */
export async function eraseTexts(tx: Tx, places: readonly JobPlace[]): Promise<number> {
  const configurations = places.map(({ configuration }) => configuration)
  await tx`
    select from webhook.endpoints e where e.configuration = any (${configurations}::uuid[])
    order by e.agent_id for no key update`
  const { count } = await tx`
    update webhook.jobs j
    set body = null, due_at = null, lease = null, ended_at = coalesce(j.ended_at, clock_timestamp())
    from unnest(${configurations}::uuid[], ${places.map(({ messageId }) => messageId)}::text[]) u (configuration, message_id)
    where j.configuration = u.configuration and j.message_id = u.message_id and j.body is not null`
  return count
}
