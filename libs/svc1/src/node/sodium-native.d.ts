// sodium-native ships no types, and the published types are for version 2. This file therefore declares the functions that
// we use.
declare module 'sodium-native' {
  const sodium: {
    /** Whether the 32 bytes are the canonical encoding of a point of the prime-order subgroup other than the identity. */
    crypto_core_ed25519_is_valid_point(point: Uint8Array): boolean
    /** @param signature 64 bytes. @param publicKey 32 bytes. Throws for other lengths. */
    crypto_sign_verify_detached(signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array): boolean
  }
  export default sodium
}
