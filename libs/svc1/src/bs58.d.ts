// bs58 6 ships types, but its `exports` map hides them from ES modules. This file therefore declares the functions that we
// use.
declare module 'bs58' {
  const base58: {
    encode(bytes: Uint8Array): string
    /** Undefined if a digit is not in the Bitcoin alphabet. Takes quadratic time, so check the length first. */
    decodeUnsafe(text: string): Uint8Array | undefined
  }
  export default base58
}
