import { lookup, Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import { isPublicAddress } from '../domain/address.ts'
import type { Target } from '../domain/webhook-url.ts'

/** Addresses of a name, as the resolver spells them. @throws Error where it has none, or does not answer. */
export type Resolve = (host: string) => Promise<readonly string[]>

/** Seconds of a resolver that does not answer are seconds of one delivery: no thread waits, as it would in getaddrinfo. */
const QUERY_TIMEOUT_MS = 2_000
const QUERY_TRIES = 2
/** Addresses that are tried at most, IPv4 first. */
const MAX_ADDRESSES = 8

/** Asks the name servers of the system. One of the two kinds of addresses may be missing, not both. */
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
 * The addresses that a delivery may connect to: looked up anew for every attempt, every one of them checked (spec 10.6).
 * The connection goes to one of these and to no other, so a name that answers differently a moment later gains nothing.
 * @throws Error where one of them is not public, or there is none.
 */
export async function findAddresses({ host, exempt }: Target, resolve: Resolve): Promise<readonly string[]> {
  if (exempt) return (await lookup(host, { all: true })).map(({ address }) => address)
  const addresses = isIP(host) === 0 ? await resolve(host) : [host]
  if (addresses.length === 0) throw new Error('the name has no address')
  if (!addresses.every(isPublicAddress)) throw new Error('an address of the name is not public')
  return addresses.slice(0, MAX_ADDRESSES)
}
