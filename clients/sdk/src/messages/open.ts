import type { Envelope } from '@svc/contracts/resources.ts'
import { type Address, isSameAuthority, parseAddress } from '@svc/envelope/address.ts'
import type { SealedEnvelope, SignedEnvelope } from '@svc/envelope/envelope.ts'
import type { JsonValue } from '@svc/envelope/json-value.ts'
import { verifyEnvelope } from '@svc/envelope/sign-envelope.ts'
import { agentIdOf, isAgentId } from '@svc/svc1/agent-id.ts'
import { VerificationError } from '../errors.ts'
import type { AgentKey } from '../keys.ts'

/** The content of a received envelope. */
export interface Opened {
  readonly body: JsonValue
  /** Whether the envelope was sealed. */
  readonly sealed: boolean
  /**
   * Whether the sender's own signature was checked. False only with `allowUnverified`, if no key of the sender is known.
   * Then only the service vouches for the sender.
   */
  readonly verified: boolean
  /** The sender's agent id, and its name if it is known. Undefined if neither a key nor an id of the sender is known. */
  readonly sender: { readonly agentId: string; readonly name: string | undefined } | undefined
}

/**
 * Opens an envelope if it is sealed, and verifies the signature of its sender.
 * @param key the recipient's, needed for sealed envelopes.
 * @param senderPublicKey 32 bytes. If undefined, nothing is verified.
 * @throws VerificationError.
 */
export async function openReceived(
  envelope: Envelope,
  key: AgentKey | undefined,
  senderPublicKey: Uint8Array | undefined,
): Promise<Omit<Opened, 'sender'>> {
  // The key of a name is not in the name: the caller has found it.
  if (senderPublicKey !== undefined && isAgentId(envelope.from) && agentIdOf(senderPublicKey) !== envelope.from) {
    throw new VerificationError('wrong_key', `the key does not belong to the sender ${envelope.from}`)
  }
  const sealed = 'body_enc' in envelope
  const signed = sealed ? await decrypt(envelope as SealedEnvelope, key) : (envelope as SignedEnvelope)
  if (senderPublicKey !== undefined && !isSignedBy(signed, senderPublicKey)) {
    throw new VerificationError('invalid_signature', `the envelope ${envelope.id} is not signed by ${envelope.from}`)
  }
  return { body: signed.body, sealed, verified: senderPublicKey !== undefined }
}

/**
 * Checks that an envelope was written for this reader (spec 13.5). A good signature and a seal do not show it: a recipient
 * can pass the envelope on, and can seal what is inside again for somebody else.
 * @param expected the reader's address, or `board:<id>` of the board from which a post was read.
 * @throws VerificationError.
 */
export function assertAddressedTo({ id, to }: Envelope, expected: string): void {
  const [actual, wanted] = [parseAddress(to), parseAddress(expected)]
  if (wanted === undefined) throw new TypeError(`${expected} is not an address: use <name>@<authority> or board:<id>`)
  if (actual !== undefined && isSame(actual, wanted)) return
  throw new VerificationError(
    'addressed_to_another',
    actual?.kind === 'board' && wanted.kind === 'agent'
      ? `${id} is a post for ${to}, not a message for ${expected}: to open it, set \`to\` to the board that you read it from`
      : `the envelope ${id} is addressed to ${to}, not to ${expected}`,
  )
}

function isSame(a: Address, b: Address): boolean {
  if (a.kind === 'board') return b.kind === 'board' && a.boardId === b.boardId
  return b.kind === 'agent' && a.name === b.name && isSameAuthority(a.authority, b.authority)
}

async function decrypt(envelope: SealedEnvelope, key: AgentKey | undefined): Promise<SignedEnvelope> {
  if (key === undefined) throw new TypeError('only a client with a key can open a sealed envelope: set `key`')
  // Loaded on first use, because it is the larger half of the code that a page would load.
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

/** Also false for an envelope without a canonical form, e.g. with a lone surrogate that a service accepted. */
function isSignedBy(envelope: SignedEnvelope, publicKey: Uint8Array): boolean {
  try {
    return verifyEnvelope(envelope, publicKey)
  } catch {
    return false
  }
}
