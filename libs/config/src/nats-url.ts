/**
 * The address of NATS: `nats://user:password@host:port`, or `tls://…` to require TLS. Several servers are separated by
 * commas.
 */
export interface NatsUrl {
  /** Whether TLS is required. If so, a server without TLS is not used. */
  readonly tls: boolean
  /** `host:port`. The default port is 4222. */
  readonly servers: readonly string[]
  /** Names and addresses of the servers, without ports. A server's certificate must be for one of them. */
  readonly hosts: readonly string[]
  /** The login of the first server, which is used for all. Empty if there is none. */
  readonly user: string
  readonly password: string
}

const SCHEMES = ['nats:', 'tls:']
const NOT_A_URL = 'is not a valid URL: percent-encode special characters of the password, such as %40 for @'

/**
 * @throws TypeError whose message continues the name of the variable ("… is not a valid URL"). Unlike the error of `new
 * URL`, it never contains the password.
 */
export function parseNatsUrl(text: string): NatsUrl {
  const parts = text.split(',')
  if (!parts.every((part) => URL.canParse(part))) throw new TypeError(NOT_A_URL)
  const urls = parts.map((part) => new URL(part))
  for (const { protocol, hostname, pathname, search, hash } of urls) {
    if (!SCHEMES.includes(protocol))
      throw new TypeError(`has the scheme ${protocol}//: write tls:// for TLS, or nats:// without`)
    if (hostname === '') throw new TypeError(`names no host: write ${protocol}//user:password@host:port`)
    if (search !== '' || hash !== '' || !['', '/'].includes(pathname))
      throw new TypeError(`has more than host and port for ${hostname}: remove the rest; to require TLS, write tls://`)
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
    throw new TypeError(NOT_A_URL, { cause })
  }
}
