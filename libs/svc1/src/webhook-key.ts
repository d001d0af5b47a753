import { decodeBase64 } from './base64.ts'

/** Before the base64 of the key, in a secret of Standard Webhooks. */
export const WEBHOOK_SECRET_PREFIX = 'whsec_'
const KEY_BYTES = { min: 24, max: 64 }

/**
 * The key of the signature of Standard Webhooks (spec 10.9). Libraries decode text that is not canonical base64 differently, so
 * such text has no key.
 * @returns undefined unless the secret is `whsec_` and the base64 of 24 to 64 bytes.
 */
export function standardWebhookKey(secret: string): Uint8Array | undefined {
  if (!secret.startsWith(WEBHOOK_SECRET_PREFIX)) return undefined
  const key = decodeBase64(secret.slice(WEBHOOK_SECRET_PREFIX.length))
  return key !== undefined && key.length >= KEY_BYTES.min && key.length <= KEY_BYTES.max ? key : undefined
}
