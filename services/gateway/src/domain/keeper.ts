/**
 * Which gateway keeps a client's bucket: the one with the highest hash of both names (rendezvous hashing). Gateways that know
 * the same gateways agree without asking, each keeps as many clients, and one that comes or goes moves only its own.
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

/** The finalizer of MurmurHash3: every bit of the hash depends on every other, so that the highest is anybody's. */
function mix(value: number): number {
  let bits = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return (bits ^ (bits >>> 16)) >>> 0
}
