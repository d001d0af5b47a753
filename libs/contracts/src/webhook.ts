/** The calls of the webhook service. */
import { Type } from '@sinclair/typebox'
import { defineCall } from './define.ts'
import { AgentId } from './ids.ts'
import { closed, EventCursor, Webhook, WebhookState } from './resources.ts'
import { SuspensionChange } from './suspension.ts'

/**
 * Sets the agent's webhook (spec 10.1, 11.2). Each call costs 1 unit, cancels pending deliveries, and resets the counts.
 * `after`: the head of the agent's log, read before this call. Events up to this head are older than the configuration and
 * are never sent to it. Codes, in this order: `invalid_webhook_url`, `signer_revoked`, budget's.
 */
export const setWebhook = defineCall({
  subject: 'svc.webhook.set-webhook',
  request: closed({ agent_id: AgentId, webhook: Webhook, after: EventCursor }),
  reply: WebhookState,
})

/** Returns the agent's webhook and its counts. Codes: `not_found`. */
export const getWebhook = defineCall({
  subject: 'svc.webhook.get-webhook',
  request: closed({ agent_id: AgentId }),
  reply: WebhookState,
})

/**
 * Deletes the agent's webhook and cancels pending deliveries. Free, without a call to budget (spec 11.2). Codes:
 * `not_found`.
 */
export const deleteWebhook = defineCall({
  subject: 'svc.webhook.delete-webhook',
  request: closed({ agent_id: AgentId }),
  reply: closed({}),
})

/** Like `deleteWebhook`, but for ever, because the agent was revoked (spec 5.11). Idempotent; succeeds even if there is no webhook. */
export const closeWebhook = defineCall({
  subject: 'svc.webhook.close-webhook',
  request: closed({ agent_id: AgentId }),
  reply: closed({}),
})

/** Pauses the agent's webhook while the agent is suspended: its jobs stay, and no attempt begins. Succeeds even if there is no webhook. */
export const setSuspension = defineCall({
  subject: 'svc.webhook.set-suspension',
  request: SuspensionChange,
  reply: closed({}),
})

/** Reports how far deliveries are behind, for monitoring. */
export const measureWebhooks = defineCall({
  subject: 'svc.webhook.measure',
  request: closed({}),
  reply: closed({
    /** Seconds for which the oldest claimable job has been due; 0 if none is due. */
    oldest_due_seconds: Type.Number({ minimum: 0 }),
    /** Events in the stream that webhook has not processed yet; null if the stream is unavailable. */
    consumer_lag: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
    /** Number of requests that the answering process has under way. */
    in_flight: Type.Integer({ minimum: 0 }),
  }),
})
