import { createHmac } from 'node:crypto'
import { standardWebhookKey } from '../webhook-key.ts'

interface Attempt {
  /** The same for every attempt of a delivery. */
  readonly deliveryId: string
  readonly messageId: string
  /** The text of the envelope, exactly as it is sent. */
  readonly body: string
  readonly nowMs: number
}

/**
 * The headers that say what is delivered and prove who sent it: those of spec 10.5, and those of Standard Webhooks if the secret has
 * their form (spec 10.9).
 * @param secret its UTF-8 bytes; undefined if the delivery is not signed.
 */
export function webhookHeaders(attempt: Attempt, secret: Uint8Array | undefined): Record<string, string> {
  const { deliveryId, messageId, body, nowMs } = attempt
  const timestamp = String(Math.floor(nowMs / 1000))
  const headers = { 'x-svc-timestamp': timestamp, 'x-svc-message-id': messageId, 'x-svc-delivery-id': deliveryId }
  if (secret === undefined) return headers
  return {
    ...headers,
    'x-svc-signature': `sha256=${hmac(secret, `${timestamp}.${messageId}.${body}`).toString('hex')}`,
    ...standardHeaders(attempt, timestamp, Buffer.from(secret).toString('utf8')),
  }
}

function standardHeaders({ deliveryId, body }: Attempt, timestamp: string, secret: string): Record<string, string> {
  const key = standardWebhookKey(secret)
  if (key === undefined) return {}
  const signature = hmac(key, `${deliveryId}.${timestamp}.${body}`).toString('base64')
  return { 'webhook-id': deliveryId, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` }
}

function hmac(key: Uint8Array, text: string): Buffer {
  return createHmac('sha256', key).update(text, 'utf8').digest()
}
