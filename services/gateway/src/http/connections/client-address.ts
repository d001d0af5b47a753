import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** A block of addresses: its first address, and how many leading bits all its addresses share. */
export interface AddressRange {
  readonly address: ipaddr.IPv4 | ipaddr.IPv6
  readonly bits: number
}

/** The address that a request counts for. */
interface ClientAddress {
  readonly address: string
  /** Set if the address is probably not the client's. */
  readonly doubt?: Doubt
}

/**
 * Why a client's address may be wrong:
 * - `absent`: a trusted proxy sent no `X-Forwarded-For`, or one that names only trusted proxies;
 * - `unreadable`: a trusted proxy forwarded something that is not an address;
 * - `private`: a trusted proxy forwarded a private address that is not a trusted proxy's;
 * - `longer`: the header has more entries, so the client may be a proxy;
 * - `untrusted`: a peer with a private address forwards, but is not trusted.
 */
export type Doubt = 'absent' | 'unreadable' | 'private' | 'longer' | 'untrusted'

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** Leading bits that identify an IPv6 client. A client usually gets a whole /64 (spec 3.16; ADR 22). */
const IPV6_CLIENT_BITS = 64

/** Kinds of addresses that no client on the internet has. */
const PRIVATE: ReadonlySet<string> = new Set(['private', 'loopback', 'linkLocal', 'uniqueLocal', 'carrierGradeNat'])

/** Parses an address or a CIDR block in its usual notation. @returns undefined for anything else. */
export function parseAddressRange(text: string): AddressRange | undefined {
  const [, host = '', prefix] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const address = parseAddress(host)
  if (address === undefined) return undefined
  const width = address.kind() === 'ipv4' ? 32 : 128
  // ::ffff:10.0.0.0/104 is 10.0.0.0/8
  const mapped = address.kind() === 'ipv4' && host.includes(':')
  const bits = prefix === undefined ? width : Number(prefix) - (mapped ? 96 : 0)
  return bits >= 0 && bits <= width ? { address, bits } : undefined
}

/**
 * Returns the client's address. That is the peer's address, unless the peer is a trusted proxy. Then it is the last entry in
 * `X-Forwarded-For` that is not a trusted proxy. The sender may have forged everything before that entry (spec 3.16: only a
 * trusted proxy's forwarded address counts). An entry that is not an address ends the walk at the proxy that passed it on. Empty
 * entries are skipped (RFC 9110, 5.6.1).
 * @param forwardedFor all values of the header, in the order received.
 */
export function clientAddress(
  peer: string,
  forwardedFor: string | undefined,
  trusted: readonly AddressRange[],
): ClientAddress {
  const parsed = parseAddress(peer)
  if (!isTrusted(parsed, trusted)) {
    return forwardedFor !== undefined && isPrivate(parsed) ? { address: peer, doubt: 'untrusted' } : { address: peer }
  }
  const entries = (forwardedFor ?? '')
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
  if (entries.length === 0) return { address: peer, doubt: 'absent' }
  let address = peer
  for (let left = entries.length - 1; left >= 0; left -= 1) {
    const host = hostOf(entries[left] ?? '')
    const entry = parseAddress(host)
    if (entry === undefined) return { address, doubt: 'unreadable' }
    address = host
    if (isTrusted(entry, trusted)) continue
    if (isPrivate(entry)) return { address, doubt: 'private' }
    return left > 0 ? { address, doubt: 'longer' } : { address }
  }
  return { address, doubt: 'absent' }
}

/** Whether a peer is a proxy whose `X-Forwarded-For` is trusted. */
export function isTrustedProxy(peer: string, trusted: readonly AddressRange[]): boolean {
  return isTrusted(parseAddress(peer), trusted)
}

/** The key by which a client's requests are counted: its IPv4 address, also if mapped into IPv6, or its IPv6 /64. */
export function rateKey(address: string): string {
  const parsed = parseAddress(address)
  if (parsed === undefined) return 'unknown'
  if (parsed.kind() === 'ipv4') return parsed.toString()
  return (parsed as ipaddr.IPv6).parts.slice(0, IPV6_CLIENT_BITS / 16).join(':')
}

function isTrusted(address: Address | undefined, trusted: readonly AddressRange[]): boolean {
  if (address === undefined) return false
  return trusted.some((range) => range.address.kind() === address.kind() && contains(range, address))
}

function isPrivate(address: Address | undefined): boolean {
  return address !== undefined && PRIVATE.has(address.range())
}

function contains({ address: first, bits }: AddressRange, address: Address): boolean {
  return address.kind() === 'ipv4'
    ? (address as ipaddr.IPv4).match(first as ipaddr.IPv4, bits)
    : (address as ipaddr.IPv6).match(first as ipaddr.IPv6, bits)
}

/** Parses an address as sockets write it, without its zone. ipaddr.js alone would also accept `127.1` and octal digits. */
function parseAddress(text: string): Address | undefined {
  const bare = text.split('%', 1)[0] ?? ''
  return isIP(bare) === 0 ? undefined : ipaddr.process(bare)
}

/** Removes the port, which some proxies add: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function hostOf(entry: string): string {
  return /^\[([^\]]+)\](?::\d+)?$/.exec(entry)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(entry)?.[1] ?? entry
}
