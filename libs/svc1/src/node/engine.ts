/**
 * The Ed25519 implementation on Node: libsodium if its binary can be loaded, otherwise node:crypto and JavaScript. Both
 * give the same verdict on every key and signature (spec 2.2, 3.4); docs/adr/0011-libsodium-checks-keys-and-signatures.md
 * has the figures.
 */
import { createPublicKey, verify } from 'node:crypto'
import { createRequire } from 'node:module'
import type sodium from 'sodium-native'
import { isPublicKey } from '../public-key.ts'

/** @param signature 64 bytes, R ‖ S. */
type Verify = (signature: Uint8Array, signed: Uint8Array) => boolean

export interface Engine {
  /** Name for the log. */
  readonly name: string
  /** Gives the same verdicts as `isPublicKey` of public-key.ts. */
  readonly isPublicKey: (bytes: Uint8Array) => boolean
  /** Returns a function that verifies signatures by one key. @param publicKey 32 bytes that `isPublicKey` accepts. */
  readonly verifierOf: (publicKey: Uint8Array) => Verify
}

/**
 * node:crypto verifies by spec 3.4 since Node 24.19. It cannot check the order of a key, so JavaScript does that. Importing a key
 * costs a quarter of a verification, so the returned function keeps the imported key.
 */
export const NODE_ENGINE: Engine = {
  name: 'node:crypto',
  isPublicKey,
  verifierOf(publicKey) {
    const x = Buffer.from(publicKey).toString('base64url')
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
    return (signature, signed) => verify(null, signed, key, signature)
  },
}

/**
 * libsodium 1.0.21. Earlier versions accept keys of mixed order (CVE-2025-69277), and the development branch verifies with
 * the cofactor. `assertVerifier` refuses both.
 */
export function createSodiumEngine(library: typeof sodium): Engine {
  return {
    name: 'libsodium',
    isPublicKey: (bytes) => bytes.length === 32 && library.crypto_core_ed25519_is_valid_point(bytes),
    verifierOf: (publicKey) => (signature, signed) => library.crypto_sign_verify_detached(signature, signed, publicKey),
  }
}

/** @returns libsodium's engine; if libsodium cannot be loaded, the engine of node:crypto and the reason. */
export function chooseEngine(load: () => typeof sodium): {
  readonly engine: Engine
  readonly fallbackReason?: unknown
} {
  try {
    return { engine: createSodiumEngine(load()) }
  } catch (fallbackReason) {
    return { engine: NODE_ENGINE, fallbackReason }
  }
}

const chosen = chooseEngine(() => createRequire(import.meta.url)('sodium-native'))

/** The engine of this process and its threads. */
export const ENGINE: Engine = chosen.engine

interface EngineLogger {
  info(facts: object, text: string): void
  warn(facts: object, text: string): void
}

/** Logs the engine. Call it once, when a service starts. */
export function logEngine(logger: EngineLogger, { engine, fallbackReason } = chosen): void {
  if (fallbackReason === undefined) logger.info({ engine: engine.name }, 'keys and signatures are checked by libsodium')
  else {
    logger.warn(
      { engine: engine.name, err: fallbackReason },
      'libsodium cannot be loaded: node:crypto verifies signatures at 2 times the CPU, and JavaScript checks keys at 30 times the CPU',
    )
  }
}
