import { ENGINE, type Engine } from './engine.ts'
import { parsePublicKey } from './public-key.ts'

/** A key to verify with. */
export interface VerifyKey {
  /** 32 bytes. */
  readonly bytes: Uint8Array
  readonly verify: (signature: Uint8Array, signed: Uint8Array) => boolean
}

/** As `parsePublicKey`, some 30 times as fast with libsodium. */
export function parsePublicKeyNode(text: string): Uint8Array | undefined {
  return parsePublicKey(text, ENGINE.isPublicKey)
}

/**
 * The key in the form that this process verifies with. It is worth keeping: an agent id is the hash of its key, so a kept key
 * is never stale.
 * @param publicKey 32 bytes that `parsePublicKey` accepted, now or at registration: they are not looked at again here.
 * @param engine for tests.
 * @throws RangeError when the length is wrong.
 */
export function importPublicKey(publicKey: Uint8Array, engine: Engine = ENGINE): VerifyKey {
  if (publicKey.length !== 32) throw new RangeError('a public key has 32 bytes')
  // Copied: what is given may be a part of a pool of 64 KB, which a kept key would keep too.
  const bytes = new Uint8Array(publicKey)
  return { bytes, verify: engine.verifierOf(bytes) }
}

/**
 * As `verifySignature`, with native code: RFC 8032 without cofactor, S < L, R not of small order (spec 3.4).
 * @param signature 64 bytes, R ‖ S.
 * @param signed UTF-8 bytes of the seven lines, from `signedString`.
 * @param key from `importPublicKey`.
 * @returns false when it is well formed and does not match. @throws RangeError when the signature's length is wrong.
 */
export function verifyRequestNode(signature: Uint8Array, signed: Uint8Array, key: VerifyKey): boolean {
  if (signature.length !== 64) throw new RangeError('a signature has 64 bytes')
  return key.verify(signature, signed)
}
