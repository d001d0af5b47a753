import { type ConnectionOptions, checkServerIdentity, type SecureContext } from 'node:tls'
import { explainNoTls, explainTlsFailure } from '@svc/tls/failure.ts'
import { ErrorCode, NatsError, type TlsOptions } from 'nats'

/**
 * Options that make the client use TLS before it sends the login, also with servers that it learns of later. A server's
 * certificate must be for a host in the URL, whatever name the cluster gives the server. The first message of a server is not
 * encrypted, so an attacker on the network could put the name of another server into it.
 * @param context is called for every connection.
 */
export function tlsFor(hosts: readonly string[], context: () => SecureContext): TlsOptions & ConnectionOptions {
  return {
    get secureContext() {
      return context()
    },
    checkServerIdentity(_name, certificate) {
      const problems = hosts.map((host) => checkServerIdentity(host, certificate))
      return problems.includes(undefined) ? undefined : problems[0]
    },
  }
}

/** @returns an explanation if an attempt to connect failed because of TLS. */
export function explainTls(error: unknown, server: string): string | undefined {
  const about = {
    name: `NATS at ${server}`,
    variable: 'SVC_NATS_URL',
    authorities: 'SVC_NATS_CA_FILE or NODE_EXTRA_CA_CERTS',
  }
  if (error instanceof NatsError && error.code === ErrorCode.ServerOptionNotAvailable)
    return explainNoTls(about, 'nats:// instead of tls://')
  return explainRefusal(error, about.name) ?? explainTlsFailure(error, about)
}

/** The TLS alerts that say why a server refuses the certificate of this process. */
const REFUSED = /_ALERT_(\w*CERTIFICATE\w*|UNKNOWN_CA|ACCESS_DENIED)$/

function explainRefusal(error: unknown, name: string): string | undefined {
  if (!(error instanceof Error && 'code' in error && typeof error.code === 'string')) return undefined
  const [, alert] = REFUSED.exec(error.code) ?? []
  if (alert === undefined) return undefined
  return alert === 'CERTIFICATE_REQUIRED'
    ? `${name} asks for a certificate of this process: name one and its key in SVC_NATS_CERT_FILE and SVC_NATS_KEY_FILE.`
    : `${name} refuses the certificate in SVC_NATS_CERT_FILE (${alert}): put one there that has not expired, from an authority that the server trusts.`
}

/** A server that refuses a certificate resets the connection, and the reset often overtakes the alert with the reason. */
export function explainReset(error: unknown, server: string): string | undefined {
  if (!(error instanceof Error && 'code' in error && error.code === 'ECONNRESET')) return undefined
  return `NATS at ${server} reset the connection: if it asks for certificates of clients, SVC_NATS_CERT_FILE needs one that has not expired, from an authority that the server trusts.`
}
