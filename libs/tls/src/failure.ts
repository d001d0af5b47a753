/** Explains a TLS failure to an operator. Waiting does not solve any of these failures, so each line says what to do. */
interface Server {
  /** E.g. `NATS at nats:4222`. */
  readonly name: string
  /** The environment variable that has the server's URL. */
  readonly variable: string
  /** The environment variables that can name a file with the server's authority. */
  readonly authorities?: string
}

/** Its message is a sentence for the operator. */
export class TlsError extends Error {
  override name = 'TlsError'
}

type TlsFailure = 'wrong host' | 'expired' | 'not yet valid' | 'unknown authority' | 'other'

/** @returns undefined if the error is not a TLS failure. */
export function tlsFailureOf(error: unknown): TlsFailure | undefined {
  const code = errorCodeOf(error)
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'wrong host'
  if (code === 'CERT_HAS_EXPIRED') return 'expired'
  if (code === 'CERT_NOT_YET_VALID') return 'not yet valid'
  if (UNKNOWN_AUTHORITY.has(code)) return 'unknown authority'
  return /^(ERR_SSL_|ERR_TLS_|CERT_|EPROTO$)/.test(code) ? 'other' : undefined
}

/** @returns undefined if the error is not a TLS failure. */
export function explainTlsFailure(
  error: unknown,
  { name, variable, authorities = 'NODE_EXTRA_CA_CERTS' }: Server,
): string | undefined {
  if (!(error instanceof Error)) return undefined
  switch (tlsFailureOf(error)) {
    case undefined:
      return undefined
    case 'wrong host':
      return `The certificate of ${name} is for another host (${altNamesOf(error)}): issue one for the host in ${variable}, or write a host of the certificate there.`
    case 'expired':
      return `The certificate of ${name} has expired: renew it on the server.`
    case 'not yet valid':
      return `The certificate of ${name} is not valid yet: compare its first day with the clocks of both machines.`
    case 'unknown authority':
      return `The certificate of ${name} is from an authority that this process does not trust (${errorCodeOf(error)}): name the file of the authority in ${authorities} and start again.`
    case 'other':
      return `TLS with ${name} fails: ${error.message}.`
  }
}

/** @param insecure the text to write if everybody on the network may read the password. */
export function explainNoTls({ name, variable }: Server, insecure: string): string {
  return `${name} offers no TLS, but ${variable} requires it: turn TLS on there. Write ${insecure} only if everybody on the network may read the password.`
}

const UNKNOWN_AUTHORITY = new Set([
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'INVALID_CA',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/** The code of Node, OpenSSL or an HTTP client; empty if there is none. */
export function errorCodeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}

/** The peer chooses this text, so it is shortened to one printable line. */
function altNamesOf(error: Error): string {
  const { cert } = error as { cert?: { subjectaltname?: string } }
  return (cert?.subjectaltname ?? 'no names').replace(/[^\x20-\x7e]/g, '?').slice(0, 200)
}
