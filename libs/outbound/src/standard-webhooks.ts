import { createHmac } from 'node:crypto'

const STANDARD_SECRET = 'whsec_'
const STANDARD_KEY_BYTES = { min: 24, max: 64 }

/**
 * The key of a secret as Standard Webhooks defines it: `whsec_` and the base64 of 24 to 64 bytes.
 * @returns undefined unless the text is base64 letter for letter, because libraries decode other text differently.
 */
export function standardKey(secret: string): Buffer | undefined {
  if (!secret.startsWith(STANDARD_SECRET)) return undefined
  const text = secret.slice(STANDARD_SECRET.length)
  const key = Buffer.from(text, 'base64')
  const { min, max } = STANDARD_KEY_BYTES
  return key.length >= min && key.length <= max && key.toString('base64') === text ? key : undefined
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
  const signed = `${id}.${timestamp}.${body}`
  const signatures = keys.map((key) => `v1,${createHmac('sha256', key).update(signed, 'utf8').digest('base64')}`)
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}
