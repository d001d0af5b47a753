import { lookup, Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import { isPublicAddress } from './address.ts'
import { AttemptError } from './attempt-error.ts'
import type { Target } from './webhook-url.ts'

/** Resolves a name to addresses. @throws Error if the name has none, or the resolver does not answer. */
export type Resolve = (host: string) => Promise<readonly string[]>

/** A slow resolver delays only one delivery. Unlike getaddrinfo, this resolver blocks no thread. */
const QUERY_TIMEOUT_MS = 2_000
const QUERY_TRIES = 2
/** The name exists, but has no address of this kind. */
const NODATA = 'ENODATA'
/** Maximum number of addresses to try, IPv4 first. */
const MAX_ADDRESSES = 8

/** Asks the system's name servers. A name may lack one of the two kinds of addresses, but not both. */
export function createResolve(): Resolve {
  const resolver = new Resolver({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES })
  return async (host) => {
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    const addresses = [v4, v6].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    if (addresses.length > 0) return addresses
    // A name without one kind of address says nothing about the other kind, so the other error is the reason.
    const reasons = [v4, v6].flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []))
    throw reasons.find(({ code }) => code !== NODATA) ?? reasons[0]
  }
}

/**
 * Finds the addresses to which a delivery may connect. Every attempt looks them up again and checks every address
 * (spec 10.6). The connection uses only these, so a name gains nothing by answering differently a moment later (DNS
 * rebinding).
 * @throws AttemptError if one of them is not public, or if there is none.
 */
export async function findAddresses(
  { host, exempt }: Pick<Target, 'host' | 'exempt'>,
  resolve: Resolve,
): Promise<readonly string[]> {
  if (exempt) return (await lookup(host, { all: true })).map(({ address }) => address)
  const addresses = isIP(host) === 0 ? await resolve(host) : [host]
  if (addresses.length === 0) throw new AttemptError('address', 'dns: the name has no address')
  const refused = addresses.find((address) => !isPublicAddress(address))
  if (refused !== undefined)
    throw new AttemptError('address', `not public: the name has an address that is not public (${refused})`)
  return addresses.slice(0, MAX_ADDRESSES)
}
