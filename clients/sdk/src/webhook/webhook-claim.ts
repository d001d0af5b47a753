/**
 * What the headers of a webhook claim, and whether its signature proves it: `X-SVC-Signature` (spec 10.5), or without it the headers
 * of Standard Webhooks (spec 10.9).
 */
import { decodeBase64 } from '@svc/svc1/base64.ts'
import { standardWebhookKey } from '@svc/svc1/webhook-key.ts'

/** Why a request is refused. */
export type WebhookRefusal = 'malformed' | 'signature_invalid' | 'timestamp_out_of_range' | 'addressed_to_another'

export class WebhookError extends Error {
  override name = 'WebhookError'
  readonly kind: WebhookRefusal

  constructor(kind: WebhookRefusal, message: string, options?: ErrorOptions) {
    super(message, options)
    this.kind = kind
  }
}

/** Headers as Node gives them, with names in lower case. */
export type WebhookHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** What the headers of one of the two forms say about a request. */
interface Claim {
  readonly deliveryId: string
  /** Undefined if the form does not name the message. */
  readonly messageId: string | undefined
  readonly timestamp: number
  /** What is signed before the body. */
  readonly prefix: string
  /** Undefined if the secret has no key for this form. */
  readonly key: Uint8Array | undefined
  /** One of them must be good. */
  readonly signatures: readonly Uint8Array[]
}

const TIMESTAMP = /^\d{1,15}$/
const DELIVERY_ID = /^[\w-]{1,128}$/

/** @throws WebhookError if a header is missing or malformed. */
export function readClaim(headers: WebhookHeaders, secret: string): Claim {
  const isStandard = headers['x-svc-signature'] === undefined && headers['webhook-signature'] !== undefined
  return isStandard ? standardClaim(headers, secret) : ownClaim(headers, secret)
}

/** Spec 10.5: keyed with the UTF-8 bytes of the secret. */
function ownClaim(headers: WebhookHeaders, secret: string): Claim {
  const timestamp = headerOf(headers, 'x-svc-timestamp', TIMESTAMP)
  const messageId = headerOf(headers, 'x-svc-message-id', /^[A-Za-z0-9_-]{8,80}$/)
  const deliveryId = headerOf(headers, 'x-svc-delivery-id', DELIVERY_ID)
  const signature = headerOf(headers, 'x-svc-signature', /^sha256=[0-9a-f]{64}$/).slice('sha256='.length)
  return {
    deliveryId,
    messageId,
    timestamp: Number(timestamp),
    prefix: `${timestamp}.${messageId}.`,
    key: new TextEncoder().encode(secret),
    signatures: [Uint8Array.from(signature.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))],
  }
}

/** Spec 10.9. Standard Webhooks allows several signatures, and those of other versions are ignored. */
function standardClaim(headers: WebhookHeaders, secret: string): Claim {
  const timestamp = headerOf(headers, 'webhook-timestamp', TIMESTAMP)
  const deliveryId = headerOf(headers, 'webhook-id', DELIVERY_ID)
  // The length bounds the work that a stranger can cause.
  const list = headerOf(headers, 'webhook-signature', /^[\x20-\x7e]{1,1000}$/).split(' ')
  const signatures = list.flatMap((one) => (one.startsWith('v1,') ? (decodeBase64(one.slice('v1,'.length)) ?? []) : []))
  return {
    deliveryId,
    messageId: undefined,
    timestamp: Number(timestamp),
    prefix: `${deliveryId}.${timestamp}.`,
    key: standardWebhookKey(secret),
    signatures,
  }
}

function headerOf(headers: WebhookHeaders, name: string, form: RegExp): string {
  const value = headers[name]
  if (typeof value !== 'string' || !form.test(value))
    throw new WebhookError('malformed', `${name} is missing or malformed`)
  return value
}

/** Whether the key of the claim made one of its signatures. Compares in constant time. */
export async function isSigned({ prefix, key, signatures }: Claim, body: Uint8Array): Promise<boolean> {
  if (key === undefined) return false
  const start = new TextEncoder().encode(prefix)
  const signed = new Uint8Array(start.length + body.length)
  signed.set(start)
  signed.set(body, start.length)
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const imported = await crypto.subtle.importKey('raw', Uint8Array.from(key), algorithm, false, ['verify'])
  for (const signature of signatures) {
    if (await crypto.subtle.verify(algorithm, imported, Uint8Array.from(signature), signed)) return true
  }
  return false
}
