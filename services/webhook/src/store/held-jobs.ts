/** Jobs of messages that operators took down. */
import type { Tx } from '@svc/postgres/database.ts'

/**
 * Holds the job of a message, if the agent has a webhook. If the job does not exist yet, inserts a held job without a body. The
 * event fills in the body later, and the job stays held (make_jobs). @returns whether anything changed.
 */
export async function holdMessage(tx: Tx, agentId: string, messageId: string): Promise<boolean> {
  await lockEndpoint(tx, agentId)
  const held = await tx`
    insert into webhook.jobs as j (configuration, message_id, agent_id, expires_at, accepted_ms, ended_at, held)
    select e.configuration, ${messageId}, e.agent_id, 0, 0, clock_timestamp(), 'pending'
    from webhook.endpoints e where e.agent_id = ${agentId} and e.configuration is not null
    on conflict (configuration, message_id) do update
    set held = case when j.due_at is null then 'failed' else 'pending' end,
      due_at = null, lease = null, ended_at = coalesce(j.ended_at, excluded.ended_at)
    where j.held is null and j.body is not null
    returning j.message_id`
  if (held.length > 0) await setDue(tx, agentId)
  return held.length > 0
}

/**
 * Gives a held job its earlier state. A pending job is due at once. A held job without a body is deleted, so that its event, if it
 * still comes, makes a normal job. @returns whether anything changed.
 */
export async function releaseMessage(tx: Tx, agentId: string, messageId: string): Promise<boolean> {
  await lockEndpoint(tx, agentId)
  const removed = await tx`
    delete from webhook.jobs j using webhook.endpoints e
    where e.agent_id = ${agentId} and j.configuration = e.configuration and j.message_id = ${messageId}
      and j.held is not null and j.body is null
    returning j.message_id`
  const released = await tx`
    update webhook.jobs j
    set held = null, due_at = case j.held when 'pending' then clock_timestamp() end,
      ended_at = case j.held when 'failed' then j.ended_at end
    from webhook.endpoints e
    where e.agent_id = ${agentId} and j.configuration = e.configuration and j.message_id = ${messageId} and j.held is not null
    returning j.message_id`
  if (released.length > 0) await setDue(tx, agentId)
  return removed.length + released.length > 0
}

/** Every writer of jobs locks the endpoint first. */
async function lockEndpoint(tx: Tx, agentId: string): Promise<void> {
  await tx`select from webhook.endpoints e where e.agent_id = ${agentId} for no key update`
}

async function setDue(tx: Tx, agentId: string): Promise<void> {
  await tx`
    update webhook.endpoints e
    set due_at = webhook.not_before(
      (select min(j.due_at) from webhook.jobs j where j.configuration = e.configuration and j.due_at is not null),
      e.paused_until
    )
    where e.agent_id = ${agentId}`
}
