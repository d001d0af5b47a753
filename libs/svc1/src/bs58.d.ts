// bs58 6 ships types that its own `exports` map hides from ES modules, so what is used of it is declared here.
declare module 'bs58' {
  const base58: {
    encode(bytes: Uint8Array): string
    /** undefined where a digit is not of the Bitcoin alphabet; quadratic in the length, so bound it first. */
    decodeUnsafe(text: string): Uint8Array | undefined
  }
  export default base58
}
