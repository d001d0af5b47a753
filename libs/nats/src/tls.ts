import { type ConnectionOptions, checkServerIdentity } from 'node:tls'
import { explainNoTls, explainTlsFailure } from '@svc/tls/failure.ts'
import { trustedContext } from '@svc/tls/trust.ts'
import { ErrorCode, NatsError, type TlsOptions } from 'nats'

/**
 * What the client needs to ask for TLS, which it then does before it sends the login, also of servers that it hears of later.
 * Whatever the cluster calls a server, its certificate must be for a host that the URL names: the first word of a server
 * comes in clear, so anybody on the way could name a server of their own.
 */
export function tlsFor(hosts: readonly string[]): TlsOptions & ConnectionOptions {
  return {
    secureContext: trustedContext(),
    checkServerIdentity(_name, certificate) {
      const problems = hosts.map((host) => checkServerIdentity(host, certificate))
      return problems.includes(undefined) ? undefined : problems[0]
    },
  }
}

/** @returns a sentence if an attempt to connect failed because of TLS. */
export function explainTls(error: unknown, server: string): string | undefined {
  const about = { name: `NATS at ${server}`, variable: 'SVC_NATS_URL' }
  if (error instanceof NatsError && error.code === ErrorCode.ServerOptionNotAvailable)
    return explainNoTls(about, 'nats:// instead of tls://')
  return explainTlsFailure(error, about)
}
