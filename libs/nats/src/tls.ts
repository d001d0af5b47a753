import { type ConnectionOptions, checkServerIdentity } from 'node:tls'
import { explainNoTls, explainTlsFailure } from '@svc/tls/failure.ts'
import { trustedContext } from '@svc/tls/trust.ts'
import { ErrorCode, NatsError, type TlsOptions } from 'nats'

/**
 * Options that make the client use TLS before it sends the login, also with servers that it learns of later. A server's
 * certificate must be for a host in the URL, whatever name the cluster gives the server. The first message of a server is not
 * encrypted, so an attacker on the network could put the name of another server into it.
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

/** @returns an explanation if an attempt to connect failed because of TLS. */
export function explainTls(error: unknown, server: string): string | undefined {
  const about = { name: `NATS at ${server}`, variable: 'SVC_NATS_URL' }
  if (error instanceof NatsError && error.code === ErrorCode.ServerOptionNotAvailable)
    return explainNoTls(about, 'nats:// instead of tls://')
  return explainTlsFailure(error, about)
}
