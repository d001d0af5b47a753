import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls'

let authorities: string[] = []
let context: SecureContext | undefined
/**
 * Node's list, from which the two variables above were made. Node keeps one list, until `setDefaultCACertificates`
 * replaces it.
 */
let madeFrom: readonly string[] | undefined

/**
 * The trusted authorities: Node's own list, NODE_EXTRA_CA_CERTS, and those of the system, which Node would leave out.
 * Reading them takes about 0.1 s, when the first connection needs them.
 */
export function trustedAuthorities(): string[] {
  const trusted = getCACertificates('default')
  if (trusted !== madeFrom) {
    authorities = [...new Set([...trusted, ...getCACertificates('system')])]
    context = undefined
    madeFrom = trusted
  }
  return authorities
}

/** For a client that shows no certificate. */
export function trustedContext(): SecureContext {
  const ca = trustedAuthorities()
  context ??= createSecureContext({ ca })
  return context
}
