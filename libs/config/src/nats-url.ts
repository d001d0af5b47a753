/** Where NATS is: `nats://user:password@host:port`, or `tls://…` for TLS alone. Several servers are separated by commas. */
export interface NatsUrl {
  /** TLS or nothing: no server is spoken to without it. */
  readonly tls: boolean
  /** `host:port`; the port is 4222 if it is left out. */
  readonly servers: readonly string[]
  /** Names and addresses of the servers, without ports: a certificate must be for one of them. */
  readonly hosts: readonly string[]
  /** The login is that of the first server, and holds for all. Empty: there is none. */
  readonly user: string
  readonly password: string
}

const SCHEMES = ['nats:', 'tls:']

/**
 * @throws TypeError whose message goes on after the name of the variable ("… is not a URL"). It never has the password in it,
 *   which the error of `new URL` would.
 */
export function parseNatsUrl(text: string): NatsUrl {
  const parts = text.split(',')
  if (!parts.every((part) => URL.canParse(part))) throw new TypeError('is not a URL: check what is escaped')
  const urls = parts.map((part) => new URL(part))
  for (const { protocol, hostname, pathname, search, hash } of urls) {
    if (!SCHEMES.includes(protocol))
      throw new TypeError(`has the scheme ${protocol}//: write tls:// for TLS, or nats:// without`)
    if (hostname === '') throw new TypeError(`names no host: write ${protocol}//user:password@host:port`)
    if (search !== '' || hash !== '' || !['', '/'].includes(pathname))
      throw new TypeError(
        `has more than host and port for ${hostname}: leave out what follows; TLS is asked for by tls://`,
      )
  }
  const [first] = urls
  if (first === undefined || urls.some(({ protocol }) => protocol !== first.protocol))
    throw new TypeError(
      'mixes tls:// and nats://: give every server the same scheme, or some would get the password in clear',
    )
  return {
    tls: first.protocol === 'tls:',
    servers: urls.map(({ host }) => host),
    hosts: urls.map(({ hostname }) => hostname.replace(/^\[(.*)\]$/, '$1')),
    user: decode(first.username),
    password: decode(first.password),
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (cause) {
    throw new TypeError('is not a URL: check what is escaped', { cause })
  }
}
