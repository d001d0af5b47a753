import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls'

let context: SecureContext | undefined
/** The list of Node that `context` was made from. Node keeps one list, until `setDefaultCACertificates` replaces it. */
let madeFrom: readonly string[] | undefined

/**
 * The trusted authorities: Node's own list, NODE_EXTRA_CA_CERTS, and those of the system, which Node would leave out.
 * Reading them takes about 0.1 s, when the first connection needs them.
 */
export function trustedContext(): SecureContext {
  const trusted = getCACertificates('default')
  if (context === undefined || trusted !== madeFrom) {
    context = createSecureContext({ ca: [...new Set([...trusted, ...getCACertificates('system')])] })
    madeFrom = trusted
  }
  return context
}
