import type { Envelope } from '@svc/contracts/resources.ts'
import type { SealedEnvelope, SignedEnvelope } from '@svc/envelope/envelope.ts'
import type { JsonValue } from '@svc/envelope/json-value.ts'
import { verifyEnvelope } from '@svc/envelope/sign-envelope.ts'
import { agentIdOf } from '@svc/svc1/agent-id.ts'
import { VerificationError } from './errors.ts'
import type { AgentKey } from './keys.ts'

/** What a received envelope says. */
export interface Opened {
  readonly body: JsonValue
  /** Whether it came sealed. */
  readonly sealed: boolean
  /**
   * Whether the sender's own signature was checked. False only where that was asked for and no key was known: then the
   * sender is who the service says it is.
   */
  readonly verified: boolean
}

/**
 * Opens an envelope where it is sealed, and verifies the signature of its sender.
 * @param key the recipient's, for sealed ones. @param senderPublicKey 32 bytes; undefined: verify nothing.
 * @throws VerificationError.
 */
export async function openReceived(
  envelope: Envelope,
  key: AgentKey | undefined,
  senderPublicKey: Uint8Array | undefined,
): Promise<Opened> {
  if (senderPublicKey !== undefined && agentIdOf(senderPublicKey) !== envelope.from) {
    throw new VerificationError('wrong_key', `the key is not that of ${envelope.from}`)
  }
  const sealed = 'body_enc' in envelope
  const signed = sealed ? await decrypt(envelope as SealedEnvelope, key) : (envelope as SignedEnvelope)
  if (senderPublicKey !== undefined && !isSignedBy(signed, senderPublicKey)) {
    throw new VerificationError('invalid_signature', `the envelope ${envelope.id} is not signed by ${envelope.from}`)
  }
  return { body: signed.body, sealed, verified: senderPublicKey !== undefined }
}

async function decrypt(envelope: SealedEnvelope, key: AgentKey | undefined): Promise<SignedEnvelope> {
  if (key === undefined) throw new TypeError('opening a sealed envelope takes a key: give the client one')
  // The larger half of what a page would load, so it is loaded when it is first needed.
  const { decryptEnvelope, SealError } = await import('@svc/envelope/seal.ts')
  try {
    return await decryptEnvelope(envelope, key.secretKey)
  } catch (cause) {
    if (!(cause instanceof SealError)) throw cause
    throw new VerificationError('cannot_open', `the envelope ${envelope.id} cannot be opened: ${cause.message}`, {
      cause,
    })
  }
}

/** What cannot be brought into canonical form, e.g. a lone surrogate that a service let pass, is signed by nobody. */
function isSignedBy(envelope: SignedEnvelope, publicKey: Uint8Array): boolean {
  try {
    return verifyEnvelope(envelope, publicKey)
  } catch {
    return false
  }
}
