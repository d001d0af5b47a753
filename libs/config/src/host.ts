/** Addresses to listen on, and addresses in URLs. */
import { isIPv6 } from 'node:net'

/**
 * The host to pass to `listen`. Node listens on `::` if it gets no host, for both families. If the kernel has no IPv6, it listens
 * on `0.0.0.0` instead, so one setting fits every machine.
 */
export function listenHost(host: string): string | undefined {
  return host === '::' ? undefined : host
}

/** A host as a URL contains it: an IPv6 address stands in brackets. */
export function urlHost(host: string): string {
  return isIPv6(host) ? `[${host}]` : host
}
