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

/** @returns undefined if the error is not a TLS failure. */
export function explainTlsFailure(
  error: unknown,
  { name, variable, authorities = 'NODE_EXTRA_CA_CERTS' }: Server,
): string | undefined {
  if (!(error instanceof Error)) return undefined
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `The certificate of ${name} is for another host (${altNamesOf(error)}): issue one for the host in ${variable}, or write a host of the certificate there.`
  if (code === 'CERT_HAS_EXPIRED') return `The certificate of ${name} has expired: renew it on the server.`
  if (code === 'CERT_NOT_YET_VALID')
    return `The certificate of ${name} is not valid yet: compare its first day with the clocks of both machines.`
  if (UNKNOWN_AUTHORITY.has(code))
    return `The certificate of ${name} is from an authority that this process does not trust (${code}): name the file of the authority in ${authorities} and start again.`
  if (/^(ERR_SSL_|ERR_TLS_|CERT_|EPROTO$)/.test(code)) return `TLS with ${name} fails: ${error.message}.`
  return undefined
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

/** The peer chooses this text, so it is shortened to one printable line. */
function altNamesOf(error: Error): string {
  const { cert } = error as { cert?: { subjectaltname?: string } }
  return (cert?.subjectaltname ?? 'no names').replace(/[^\x20-\x7e]/g, '?').slice(0, 200)
}
