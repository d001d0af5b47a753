import { createHash, createHmac } from 'node:crypto'

export interface Delivery {
  readonly configuration: string
  readonly messageId: string
  /** The envelope's text as it was received. */
  readonly body: string
}

/**
 * Headers of one attempt (spec 10.5): the timestamp is the attempt's own, in Unix seconds, and the key is the UTF-8 bytes
 * of the secret.
 */
export function deliveryHeaders(delivery: Delivery, secret: Uint8Array, nowMs: number): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / 1000))
  return {
    'content-type': 'application/json',
    'x-svc-timestamp': timestamp,
    'x-svc-message-id': delivery.messageId,
    'x-svc-delivery-id': deliveryId(delivery),
    'x-svc-signature': `sha256=${signatureOf(secret, timestamp, delivery.messageId, delivery.body)}`,
  }
}

/** HMAC-SHA256 over `<timestamp>.<message_id>.<exact_body_bytes>`, in hex. */
export function signatureOf(secret: Uint8Array, timestamp: string, messageId: string, body: string): string {
  return createHmac('sha256', secret).update(`${timestamp}.${messageId}.`).update(body, 'utf8').digest('hex')
}

/**
 * The same for every attempt of a job (spec 10.5), and for a job that had to be made again: a message for a
 * configuration. 32 hex digits.
 */
export function deliveryId({ configuration, messageId }: Omit<Delivery, 'body'>): string {
  return createHash('sha256').update(`${configuration}:${messageId}`).digest('hex').slice(0, 32)
}
