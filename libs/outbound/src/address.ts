import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { IPV4_SPECIAL_PURPOSE, IPV6_SPECIAL_PURPOSE } from './special-purpose.ts'

type Range<A> = readonly [network: A, bits: number]
interface Block<A> {
  readonly range: Range<A>
  readonly isPublic: boolean
}

// Sorted by prefix length, longest first, so that the first block that matches is the most specific.
const V4 = blocksOf(IPV4_SPECIAL_PURPOSE, (text) => ipaddr.IPv4.parseCIDR(text))
const V6 = blocksOf(IPV6_SPECIAL_PURPOSE, (text) => ipaddr.IPv6.parseCIDR(text))

const V4_MULTICAST = ipaddr.IPv4.parseCIDR('224.0.0.0/4')
/** The IPv6 block that IANA assigns global unicast addresses from. An address outside this block and the registry is unassigned. */
const V6_GLOBAL = ipaddr.IPv6.parseCIDR('2000::/3')
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96')
/**
 * An ISATAP address (RFC 5214) can have any prefix. Its last 64 bits begin with one of these two pairs, and end with
 * the IPv4 address to which the packet goes.
 */
const ISATAP = [
  [0x0000, 0x5efe],
  [0x0200, 0x5efe],
] as const

/**
 * Says whether a request may be sent to an address (spec 10.3; ADR 22). Refuses blocks of IANA's special-purpose
 * registries that are not marked globally reachable. Also refuses multicast addresses, unassigned addresses, and IPv6
 * addresses that contain a refused IPv4 address.
 * @param text An address as the system's resolver or the URL parser spells it. Any other text is not public.
 */
export function isPublicAddress(text: string): boolean {
  const family = isIP(text)
  if (family === 4) return isPublicV4(ipaddr.IPv4.parse(text))
  // An address with a zone is valid on one link only.
  if (family === 6 && !text.includes('%')) return isPublicV6(ipaddr.IPv6.parse(text))
  return false
}

function isPublicV4(address: ipaddr.IPv4): boolean {
  const block = V4.find(({ range: [network, bits] }) => address.match(network, bits))
  return block?.isPublic ?? !address.match(V4_MULTICAST)
}

function isPublicV6(address: ipaddr.IPv6): boolean {
  if (address.match(NAT64)) return isPublicV4(lastFourBytes(address))
  if (isIsatap(address) && !isPublicV4(lastFourBytes(address))) return false
  const block = V6.find(({ range: [network, bits] }) => address.match(network, bits))
  return block?.isPublic ?? address.match(V6_GLOBAL)
}

function isIsatap({ parts }: ipaddr.IPv6): boolean {
  return ISATAP.some(([high, low]) => parts[4] === high && parts[5] === low)
}

function lastFourBytes(address: ipaddr.IPv6): ipaddr.IPv4 {
  return new ipaddr.IPv4(address.toByteArray().slice(12))
}

function blocksOf<A>(
  rows: readonly (readonly [string, boolean])[],
  parse: (text: string) => [A, number],
): readonly Block<A>[] {
  return rows.map(([text, isPublic]) => ({ range: parse(text), isPublic })).sort((a, b) => b.range[1] - a.range[1])
}
