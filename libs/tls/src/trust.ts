import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls'

let authorities: string[] = []
let context: SecureContext | undefined
/**
 * The version of Node's list that the two variables above were made from. Node keeps one list until
 * `setDefaultCACertificates` replaces it.
 */
let madeFrom: readonly string[] | undefined

/**
 * The trusted authorities: Node's own list, NODE_EXTRA_CA_CERTS, and those of the system, which Node would leave out. They
 * are read when the first connection needs them, which takes about 0.1 s.
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

/** For a client without a certificate. */
export function trustedContext(): SecureContext {
  const ca = trustedAuthorities()
  context ??= createSecureContext({ ca })
  return context
}
