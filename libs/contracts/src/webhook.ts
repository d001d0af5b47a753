/** What the other pieces know of the webhook service. */
import { Type } from '@sinclair/typebox'
import { defineCall } from './define.ts'
import { AgentId } from './ids.ts'
import { closed, EventCursor, Webhook, WebhookState } from './resources.ts'

/**
 * Sets the agent's webhook; costs 1 unit each time, cancels what is pending, and begins to count anew. Source: spec 10.1, 11.2.
 * `after`: the head of the agent's log, asked for before this call. Events up to it are older than the configuration, and
 * old messages are never sent to a new one. Codes, in this order: `invalid_webhook_url`, `signer_revoked`, budget's.
 */
export const setWebhook = defineCall({
  subject: 'svc.webhook.set-webhook',
  request: closed({ agent_id: AgentId, webhook: Webhook, after: EventCursor }),
  reply: WebhookState,
})

/** The agent's webhook and its counts. Codes: `not_found`. */
export const getWebhook = defineCall({
  subject: 'svc.webhook.get-webhook',
  request: closed({ agent_id: AgentId }),
  reply: WebhookState,
})

/** Removes the agent's webhook and cancels what is pending; free, and asks nobody (spec 11.2). Codes: `not_found`. */
export const deleteWebhook = defineCall({
  subject: 'svc.webhook.delete-webhook',
  request: closed({ agent_id: AgentId }),
  reply: closed({}),
})

/** As `deleteWebhook`, for ever: the agent was revoked (spec 5.11). A repeat, and one without a webhook, is the same. */
export const closeWebhook = defineCall({
  subject: 'svc.webhook.close-webhook',
  request: closed({ agent_id: AgentId }),
  reply: closed({}),
})

/** How far deliveries are behind, as numbers for whoever watches over the system. */
export const measureWebhooks = defineCall({
  subject: 'svc.webhook.measure',
  request: closed({}),
  reply: closed({
    /** Seconds that the longest waiting job has been due that any worker may take; 0 where none is. */
    oldest_due_seconds: Type.Number({ minimum: 0 }),
    /** Events that the stream has and that are not known to be jobs, or none of ours, yet; null where the stream is away. */
    consumer_lag: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
    /** Requests of the answering process that are under way. */
    in_flight: Type.Integer({ minimum: 0 }),
  }),
})
