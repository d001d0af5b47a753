import { createHash, createHmac } from 'node:crypto'
import { SERVICE } from '@svc/contracts/limits.ts'
import { standardHeaders, standardKey } from '@svc/outbound/standard-webhooks.ts'

interface Delivery {
  readonly configuration: string
  readonly messageId: string
  /** The text of the envelope as it was received. */
  readonly body: string
}

/**
 * The headers of one attempt (spec 10.5). The timestamp is that of the attempt, in Unix seconds. The HMAC key of `X-SVC-Signature` is
 * the secret's UTF-8 bytes. Firewalls answer 403 to requests without `User-Agent`.
 */
export function deliveryHeaders(delivery: Delivery, secret: Uint8Array, nowMs: number): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / 1000))
  const id = deliveryId(delivery)
  return {
    'content-type': 'application/json',
    'user-agent': `${SERVICE.name}/${SERVICE.version}`,
    'x-svc-timestamp': timestamp,
    'x-svc-message-id': delivery.messageId,
    'x-svc-delivery-id': id,
    'x-svc-signature': `sha256=${signatureOf(secret, timestamp, delivery.messageId, delivery.body)}`,
    ...standardHeadersOf(id, timestamp, delivery.body, secret),
  }
}

/** None without a secret as Standard Webhooks defines it (spec 10.9). */
function standardHeadersOf(id: string, timestamp: string, body: string, secret: Uint8Array): Record<string, string> {
  const key = standardKey(Buffer.from(secret).toString('utf8'))
  return key === undefined ? {} : standardHeaders([key], { id, timestamp, body })
}

/** HMAC-SHA256 over `<timestamp>.<message_id>.<exact_body_bytes>`, in hex. */
export function signatureOf(secret: Uint8Array, timestamp: string, messageId: string, body: string): string {
  return createHmac('sha256', secret).update(`${timestamp}.${messageId}.`).update(body, 'utf8').digest('hex')
}

/**
 * Identifies a delivery, in 32 hex digits. It is the same for every attempt of a job (spec 10.5), and for a job that
 * had to be made again, because it depends only on message and configuration.
 */
export function deliveryId({ configuration, messageId }: Omit<Delivery, 'body'>): string {
  return createHash('sha256').update(`${configuration}:${messageId}`).digest('hex').slice(0, 32)
}
