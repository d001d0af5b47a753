import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls'

let context: SecureContext | undefined

/**
 * The authorities whose certificates a server may show: Node's own list, NODE_EXTRA_CA_CERTS, and those of the system, which
 * Node alone would leave out. They are read once, in about 0.1 s, when the first connection needs them.
 */
export function trustedContext(): SecureContext {
  context ??= createSecureContext({
    ca: [...new Set([...getCACertificates('default'), ...getCACertificates('system')])],
  })
  return context
}
