/**
 * Returns the gateway that keeps a client's bucket: the one with the highest hash of client and gateway (rendezvous hashing).
 * Gateways that know the same gateways agree without asking each other, and each keeps about the same number of clients. When a
 * gateway joins or leaves, only the clients that it keeps get another keeper.
 * @param gateways at least one.
 */
export function keeperOf(client: string, gateways: readonly string[]): string {
  const seed = hash(client, 0x811c9dc5)
  let keeper = ''
  let highest = -1
  for (const gateway of gateways) {
    const score = mix(hash(gateway, seed))
    if (score > highest) {
      highest = score
      keeper = gateway
    }
  }
  return keeper
}

/** FNV-1a, continued from `state`. */
function hash(text: string, state: number): number {
  let value = state
  for (let at = 0; at < text.length; at += 1) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193)
  return value >>> 0
}

/** The finalizer of MurmurHash3. Every input bit affects every output bit, so each gateway is equally likely to be highest. */
function mix(value: number): number {
  let bits = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return (bits ^ (bits >>> 16)) >>> 0
}
