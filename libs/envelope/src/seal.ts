import { Chacha20Poly1305 } from '@hpke/chacha20poly1305'
import { CipherSuite, HkdfSha256 } from '@hpke/core'
import { DhkemX25519HkdfSha256 } from '@hpke/dhkem-x25519'
import { ed25519 } from '@noble/curves/ed25519.js'
import { decodeBase64, encodeBase64 } from '@svc/svc1/base64.ts'
import { isPublicKey } from '@svc/svc1/public-key.ts'
import { readEnvelope, type SealedEnvelope, type SignedEnvelope, type UnsignedEnvelope } from './envelope.ts'
import { parseIJson } from './i-json.ts'
import { jcsBytes } from './jcs.ts'
import { IJsonError, type JsonValue } from './json-value.ts'
import { signEnvelope, verifyEnvelope } from './sign-envelope.ts'

/** A sealed envelope cannot be opened, or was not signed by its sender. `message` says which. */
export class SealError extends Error {
  override name = 'SealError'
}

// The KEM is written in JavaScript, because the KEM of @hpke/core needs X25519 in WebCrypto. HKDF does use WebCrypto, so a
// browser page needs a secure context (HTTPS or localhost).
const suite = new CipherSuite({ kem: new DhkemX25519HkdfSha256(), kdf: new HkdfSha256(), aead: new Chacha20Poly1305() })
const INFO = new TextEncoder().encode('SVC1 sealed envelope')

/**
 * Signs an envelope and seals its body and signature for one recipient: RFC 9180 HPKE, base mode (spec 6.4).
 * @param recipientPublicKey the recipient's 32-byte Ed25519 key. @param secretKey the sender's 32 bytes.
 * @throws RangeError if spec 2.2 does not allow the recipient's key; Error if the envelope is not JSON.
 */
export async function sealEnvelope(
  envelope: UnsignedEnvelope,
  recipientPublicKey: Uint8Array,
  secretKey: Uint8Array,
): Promise<SealedEnvelope> {
  const { body, sig, ...head } = signEnvelope(envelope, secretKey)
  const sender = await suite.createSenderContext({
    recipientPublicKey: await suite.kem.deserializePublicKey(toMontgomery(recipientPublicKey)),
    info: INFO,
  })
  const outer = { ...head, ephemeral_pub: encodeBase64(new Uint8Array(sender.enc)) }
  const ciphertext = await sender.seal(jcsBytes({ body, sig }), jcsBytes(outer))
  return { ...outer, body_enc: encodeBase64(new Uint8Array(ciphertext)) }
}

/**
 * Opens a sealed envelope and verifies the signature inside. The seal also authenticates every outer member.
 * @param secretKey the recipient's 32 bytes. @param senderPublicKey the 32 bytes of the agent in `from`.
 * @returns the envelope as its sender signed it, with `body` and `sig` instead of `body_enc` and `ephemeral_pub`.
 * @throws SealError if it is sealed for another recipient, was changed, or is not signed by the agent in `from`.
 */
export async function openEnvelope(
  envelope: SealedEnvelope,
  secretKey: Uint8Array,
  senderPublicKey: Uint8Array,
): Promise<SignedEnvelope> {
  const signed = await decryptEnvelope(envelope, secretKey)
  if (!verifyEnvelope(signed, senderPublicKey)) throw new SealError('the envelope inside is not signed by its sender')
  return signed
}

/**
 * Like `openEnvelope`, but does not verify the signature. For a recipient that does not know the sender's key, or verifies
 * later. Anybody can seal any content for a public key, so do not trust `from` until `verifyEnvelope` returns true.
 * @throws SealError if it is sealed for another recipient, or was changed since it was sealed.
 */
export async function decryptEnvelope(envelope: SealedEnvelope, secretKey: Uint8Array): Promise<SignedEnvelope> {
  const aad = readAad(envelope)
  const { body_enc, ephemeral_pub, ...head } = envelope
  const plaintext = await decrypt(decodeBase64(body_enc), decodeBase64(ephemeral_pub), aad, secretKey)
  return { ...head, ...readPlaintext(plaintext) }
}

/** The bytes that the seal authenticates besides the body. @throws SealError if this is not a sealed envelope. */
function readAad(envelope: SealedEnvelope): Uint8Array<ArrayBuffer> {
  const { body_enc: _, ...outer } = envelope
  try {
    if (readEnvelope(envelope).sealed) return jcsBytes(outer)
  } catch (cause) {
    throw new SealError('not a sealed envelope', { cause })
  }
  throw new SealError('not a sealed envelope')
}

async function decrypt(
  ciphertext: Uint8Array | undefined,
  enc: Uint8Array | undefined,
  aad: Uint8Array<ArrayBuffer>,
  secretKey: Uint8Array,
): Promise<Uint8Array> {
  const recipientKey = await suite.kem.deserializePrivateKey(exact(ed25519.utils.toMontgomerySecret(secretKey)))
  try {
    // refuses an `enc` of small order: its shared secret would be all zero, and so public
    const recipient = await suite.createRecipientContext({ recipientKey, enc: exact(enc), info: INFO })
    return new Uint8Array(await recipient.open(exact(ciphertext), aad))
  } catch (cause) {
    throw new SealError('the envelope is sealed for somebody else, or was changed', { cause })
  }
}

/** The plaintext is exactly JCS({"body":…,"sig":…}), so that each envelope has only one plaintext. */
function readPlaintext(plaintext: Uint8Array): { body: JsonValue; sig: string } {
  const value = parsePlaintext(plaintext)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw malformed()
  const { body, sig, ...rest } = value
  if (body === undefined || typeof sig !== 'string' || Object.keys(rest).length > 0) throw malformed()
  const canonical = jcsBytes(value)
  if (canonical.length !== plaintext.length || !canonical.every((byte, i) => byte === plaintext[i])) throw malformed()
  return { body, sig }
}

function parsePlaintext(plaintext: Uint8Array): JsonValue {
  try {
    return parseIJson(plaintext).value
  } catch (cause) {
    if (cause instanceof IJsonError) throw malformed(cause)
    throw cause
  }
}

function malformed(cause?: unknown): SealError {
  return new SealError('the plaintext is not the canonical JSON of body and sig', { cause })
}

/** The X25519 form of an Ed25519 public key. */
function toMontgomery(publicKey: Uint8Array): ArrayBuffer {
  if (!isPublicKey(publicKey)) throw new RangeError('the public key of the recipient is not allowed (spec 2.2)')
  return exact(ed25519.utils.toMontgomery(publicKey))
}

/** Copies the bytes into a buffer of exactly their length. */
function exact(bytes: Uint8Array = new Uint8Array()): ArrayBuffer {
  return Uint8Array.from(bytes).buffer
}
