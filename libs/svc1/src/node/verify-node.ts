import { parsePublicKey } from '../public-key.ts'
import { ENGINE, type Engine } from './engine.ts'

/** A key, ready to verify signatures. */
export interface VerifyKey {
  /** 32 bytes. */
  readonly bytes: Uint8Array
  readonly verify: (signature: Uint8Array, signed: Uint8Array) => boolean
}

/** Like `parsePublicKey`, but about 30 times as fast with libsodium. */
export function parsePublicKeyNode(text: string): Uint8Array | undefined {
  return parsePublicKey(text, ENGINE.isPublicKey)
}

/**
 * Imports a key into the engine of this process. Callers may cache the result: an agent id is the hash of its key, so a
 * cached key never goes stale.
 * @param publicKey 32 bytes that `parsePublicKey` accepted, now or at registration. They are not checked again here.
 * @param engine for tests.
 * @throws RangeError if the length is wrong.
 */
export function importPublicKey(publicKey: Uint8Array, engine: Engine = ENGINE): VerifyKey {
  if (publicKey.length !== 32) throw new RangeError('a public key must have 32 bytes')
  // Copy the bytes: they may be a slice of a 64 KB pool, and a cached key would keep the whole pool in memory.
  const bytes = new Uint8Array(publicKey)
  return { bytes, verify: engine.verifierOf(bytes) }
}

/**
 * Like `verifySignature`, but with native code: RFC 8032 without cofactor, S < L, R not of small order (spec 3.4).
 * @param signature 64 bytes, R ‖ S.
 * @param signed UTF-8 bytes of the seven lines, from `signedString`.
 * @param key from `importPublicKey`.
 * @returns false if the signature does not match. @throws RangeError if its length is wrong.
 */
export function verifyRequestNode(signature: Uint8Array, signed: Uint8Array, key: VerifyKey): boolean {
  if (signature.length !== 64) throw new RangeError('a signature must have 64 bytes')
  return key.verify(signature, signed)
}
