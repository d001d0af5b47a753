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
  const key = standardWebhookKey(Buffer.from(secret).toString('utf8'))
  return {
    ...headers,
    'x-svc-signature': `sha256=${hmac(secret, `${timestamp}.${messageId}.${body}`).toString('hex')}`,
    ...(key === undefined ? {} : standardHeaders([key], { id: deliveryId, timestamp, body })),
  }
}

/**
 * The headers of Standard Webhooks, so that its libraries can verify a delivery.
 * @param keys one signature for each.
 * @param timestamp Unix seconds.
 */
export function standardHeaders(
  keys: readonly Uint8Array[],
  { id, timestamp, body }: { id: string; timestamp: string; body: string },
): Record<string, string> {
  const signatures = keys.map((key) => `v1,${hmac(key, `${id}.${timestamp}.${body}`).toString('base64')}`)
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}

function hmac(key: Uint8Array, text: string): Buffer {
  return createHmac('sha256', key).update(text, 'utf8').digest()
}
