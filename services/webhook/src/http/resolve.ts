import { lookup, Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import { isPublicAddress } from '../domain/address.ts'
import type { Target } from '../domain/webhook-url.ts'

/** Resolves a name to addresses. @throws Error if the name has none, or the resolver does not answer. */
export type Resolve = (host: string) => Promise<readonly string[]>

/** A slow resolver delays only one delivery. Unlike getaddrinfo, this resolver blocks no thread. */
const QUERY_TIMEOUT_MS = 2_000
const QUERY_TRIES = 2
/** Maximum number of addresses to try, IPv4 first. */
const MAX_ADDRESSES = 8

/** Asks the system's name servers. A name may lack one of the two kinds of addresses, but not both. */
export function createResolve(): Resolve {
  const resolver = new Resolver({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES })
  return async (host) => {
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    const addresses = [v4, v6].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    if (addresses.length === 0 && v4.status === 'rejected') throw v4.reason
    return addresses
  }
}

/**
 * Finds the addresses to which a delivery may connect. Every attempt looks them up again and checks every address
 * (spec 10.6). The connection uses only these, so a name gains nothing by answering differently a moment later (DNS
 * rebinding).
 * @throws Error if one of them is not public, or if there is none.
 */
export async function findAddresses({ host, exempt }: Target, resolve: Resolve): Promise<readonly string[]> {
  if (exempt) return (await lookup(host, { all: true })).map(({ address }) => address)
  const addresses = isIP(host) === 0 ? await resolve(host) : [host]
  if (addresses.length === 0) throw new Error('the name has no address')
  if (!addresses.every(isPublicAddress)) throw new Error('the name has an address that is not public')
  return addresses.slice(0, MAX_ADDRESSES)
}
