/** OpenSSL got bytes that are no TLS. */
const NOT_TLS: ReadonlySet<string> = new Set(['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG'])
/** How Node reports a server that waited for TLS and got a request: an alert that is no HTTP, or the end of the connection. */
const PERHAPS_TLS: ReadonlySet<string> = new Set(['HPE_INVALID_CONSTANT', 'UND_ERR_SOCKET'])

/** `fetch` says only "fetch failed". On some platforms, its cause has the reason. */
export function fetchFailure(error: unknown, { protocol, host }: URL): string {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'TimeoutError') return 'timed out'
  const { cause } = error
  if (!(cause instanceof Error)) return error.message
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : ''
  if (NOT_TLS.has(code)) return `the server does not speak TLS at this port: use http://${host}`
  if (protocol === 'http:' && PERHAPS_TLS.has(code))
    return `${cause.message}; if this port expects TLS, use https://${host}`
  // OpenSSL's own message is a line of its source, with numbers.
  if ('reason' in cause && typeof cause.reason === 'string') return cause.reason
  return cause.message === '' ? code : cause.message
}
