import { createHash, createHmac } from 'node:crypto'
import { SERVICE } from '@svc/contracts/limits.ts'

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
    ...standardHeaders(id, timestamp, delivery.body, secret),
  }
}

const STANDARD_SECRET = 'whsec_'
const STANDARD_KEY_BYTES = { min: 24, max: 64 }

/**
 * The headers of Standard Webhooks, so that its libraries can verify a delivery. None without a secret as Standard Webhooks defines
 * it: `whsec_` and the base64 of 24 to 64 bytes.
 */
function standardHeaders(id: string, timestamp: string, body: string, secret: Uint8Array): Record<string, string> {
  const key = standardKey(Buffer.from(secret).toString('utf8'))
  if (key === undefined) return {}
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`, 'utf8').digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` }
}

/** @returns undefined unless the text is base64 letter for letter, because libraries decode other text differently. */
function standardKey(secret: string): Buffer | undefined {
  if (!secret.startsWith(STANDARD_SECRET)) return undefined
  const text = secret.slice(STANDARD_SECRET.length)
  const key = Buffer.from(text, 'base64')
  const { min, max } = STANDARD_KEY_BYTES
  return key.length >= min && key.length <= max && key.toString('base64') === text ? key : undefined
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
