/** The address of Postgres and the `sslmode` of its URL. */
interface DatabaseUrl {
  /** Without `sslmode`, because the two clients read it differently. */
  readonly url: string
  readonly sslmode: SslMode
  /** `host:port`, for messages. */
  readonly server: string
}

/** As in libpq. `disable` is the default. `require` encrypts, but accepts any server. */
const SSL_MODES = ['disable', 'require', 'verify-full'] as const
export type SslMode = (typeof SSL_MODES)[number]

/** Modes of libpq that are refused, because each would do less than a reader may expect. */
const REFUSED_MODES: Readonly<Record<string, string>> = {
  allow: 'would go on without TLS',
  prefer: 'would go on without TLS',
  'verify-ca': 'would not check the name of the server',
}

/**
 * @throws TypeError whose message continues the name of the variable ("… is not a valid URL"). It never contains the
 *   password, unlike the error of `new URL`.
 */
export function parseDatabaseUrl(text: string): DatabaseUrl {
  if (!URL.canParse(text)) throw new TypeError('is not a valid URL: percent-encode special characters')
  const url = new URL(text)
  if (!/^postgres(ql)?:$/.test(url.protocol))
    throw new TypeError(`has the scheme ${url.protocol}//: write postgres://user:password@host:port/database`)
  const unknown = [...url.searchParams.keys()].find((name) => name.startsWith('ssl') && name !== 'sslmode')
  if (unknown !== undefined) throw new TypeError(`has ${unknown}, which is not supported: ${adviceFor(unknown)}`)
  const [asked, ...others] = url.searchParams.getAll('sslmode')
  if (others.length > 0) throw new TypeError('has sslmode more than once: keep only one')
  const sslmode = asked === undefined ? 'disable' : SSL_MODES.find((mode) => mode === asked)
  if (sslmode === undefined) {
    const reason = REFUSED_MODES[asked ?? ''] ?? 'is unknown'
    throw new TypeError(`has sslmode=${asked}, which ${reason}: write one of ${SSL_MODES.join(', ')}`)
  }
  if (asked !== undefined) url.searchParams.delete('sslmode')
  return { url: asked === undefined ? text : url.href, sslmode, server: url.host }
}

function adviceFor(parameter: string): string {
  if (parameter === 'sslrootcert') return 'name the file of the CA in NODE_EXTRA_CA_CERTS'
  return `write sslmode=${SSL_MODES.join(', ')}`
}
