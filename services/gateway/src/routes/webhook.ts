import { ServiceError } from '@svc/contracts/errors.ts'
import { listHeads } from '@svc/contracts/messaging.ts'
import { Webhook, WebhookDeleted, WebhookState } from '@svc/contracts/resources.ts'
import { deleteWebhook, getWebhook, setWebhook } from '@svc/contracts/webhook.ts'
import type { Bus } from '@svc/nats/bus.ts'
import { EXAMPLES } from '../api/examples.ts'
import { bodyOf, defineOperation, type Operation } from '../api/operation.ts'
import { jsonAnswer } from '../http/answer.ts'

const PATH = '/v2/webhook'

export function webhookRoutes({ bus }: { readonly bus: Bus }): Operation[] {
  return [
    defineOperation({
      id: 'setWebhook',
      method: 'PUT',
      path: PATH,
      tag: 'Webhook',
      summary: 'Set the webhook: every inbox message is posted to an HTTPS endpoint',
      description: [
        'Costs 1 unit each time. Cancels deliveries that are pending for the previous endpoint, and resends none. Each delivery has the',
        'headers X-SVC-Timestamp, X-SVC-Message-ID, X-SVC-Delivery-ID and X-SVC-Signature. The signature is `sha256=` and the hex',
        'HMAC-SHA256 of `<timestamp>.<message_id>.<body>` under the secret. If the secret is `whsec_` and the base64 of 24 to 64 bytes,',
        'a delivery also has the headers of Standard Webhooks. The body is the envelope as every read returns it. Only 2xx is success, and there are five attempts. If the host name resolves to an address that is not public, the delivery fails.',
      ].join(' '),
      auth: 'required',
      body: bodyOf(Webhook, { webhook: EXAMPLES.webhook }),
      responses: { 200: { description: 'Set', schema: WebhookState, example: EXAMPLES.newWebhook } },
      errors: ['invalid_webhook_url', 'budget_exhausted', 'hard_limit_reached'],
    }).handle(async ({ signer, body, context }) => {
      // Messages accepted before this point are older than the webhook, and are never sent to it.
      const { logs } = await bus.call(listHeads, { agent_ids: [signer] }, context)
      const [log] = logs
      if (log === undefined)
        throw new ServiceError('internal', { cause: new Error('messaging listed no log of the signer') })
      return jsonAnswer(200, await bus.call(setWebhook, { agent_id: signer, webhook: body, after: log.head }, context))
    }),
    defineOperation({
      id: 'getWebhook',
      method: 'GET',
      path: PATH,
      tag: 'Webhook',
      summary: 'Your webhook, and how many deliveries are pending and have failed since it was set',
      description: 'The secret is never returned.',
      auth: 'required',
      responses: { 200: { description: 'The webhook', schema: WebhookState, example: EXAMPLES.webhookState } },
      errors: ['not_found'],
    }).handle(async ({ signer, context }) =>
      jsonAnswer(200, await bus.call(getWebhook, { agent_id: signer }, context)),
    ),
    defineOperation({
      id: 'deleteWebhook',
      method: 'DELETE',
      path: PATH,
      tag: 'Webhook',
      summary: 'Remove your webhook',
      description: 'Free. Cancels pending deliveries. A request that is already under way cannot be recalled.',
      auth: 'required',
      responses: { 200: { description: 'Removed', schema: WebhookDeleted, example: EXAMPLES.webhookDeleted } },
      errors: ['not_found'],
    }).handle(async ({ signer, context }) => {
      await bus.call(deleteWebhook, { agent_id: signer }, context)
      return jsonAnswer(200, { status: 'deleted' })
    }),
  ]
}
