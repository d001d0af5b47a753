import { agentIdOf, isAgentId } from '@svc/svc1/agent-id.ts'
import { decodeBase64, encodeBase64 } from '@svc/svc1/base64.ts'
import { signBytes } from '@svc/svc1/sign.ts'
import { verifySignature } from '@svc/svc1/verify.ts'
import type { SignedEnvelope, UnsignedEnvelope } from './envelope.ts'
import { jcsBytes } from './jcs.ts'

const SIGNATURE_BYTES = 64

/**
 * Signs an envelope: `sig` is base64 of the Ed25519 signature over the UTF-8 bytes of JCS(envelope without `sig`) (spec 6.3).
 * @param secretKey 32 bytes. It must be the key of the agent in `from`; otherwise verification fails.
 * @throws Error if the envelope is not JSON.
 */
export function signEnvelope(envelope: UnsignedEnvelope, secretKey: Uint8Array): SignedEnvelope {
  return { ...envelope, sig: encodeBase64(signBytes(jcsBytes(envelope), secretKey)) }
}

/**
 * Whether this key signed the envelope, with every member unchanged. If `from` is an agent id, the key must also be that
 * agent's, so its source need not be trusted. A name has no hash of a key, so the caller must know whose key it is. For a
 * malformed envelope from a hostile peer, this also returns false.
 * @param publicKey 32 bytes. A key that spec 2.2 does not allow verifies nothing. @throws RangeError for another length.
 */
export function verifyEnvelope(envelope: SignedEnvelope, publicKey: Uint8Array): boolean {
  const { sig, ...unsigned } = envelope
  const signature = typeof sig === 'string' ? decodeBase64(sig) : undefined
  if (signature?.length !== SIGNATURE_BYTES) return false
  if (isAgentId(unsigned.from) && agentIdOf(publicKey) !== unsigned.from) return false
  const signed = findJcsBytes(unsigned)
  return signed !== undefined && verifySignature(signature, signed, publicKey)
}

/** Undefined if the value has no canonical form. JSON.parse accepts a lone surrogate, but such a value cannot have been signed. */
function findJcsBytes(value: unknown): Uint8Array | undefined {
  try {
    return jcsBytes(value)
  } catch {
    return undefined
  }
}
