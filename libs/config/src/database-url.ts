/** Where Postgres is, and what `sslmode` in its URL asks for. */
export interface DatabaseUrl {
  /** Without `sslmode`: the two clients read different things from it. */
  readonly url: string
  readonly sslmode: SslMode
  /** `host:port`, for messages. */
  readonly server: string
}

/** As libpq means them. `disable` is also what a URL without `sslmode` gets; `require` encrypts for whoever answers. */
const SSL_MODES = ['disable', 'require', 'verify-full'] as const
export type SslMode = (typeof SSL_MODES)[number]

/** Modes of others, and why each would not be what it says. */
const REFUSED_MODES: Readonly<Record<string, string>> = {
  allow: 'would go on without TLS',
  prefer: 'would go on without TLS',
  'verify-ca': 'would not check the name of the server',
}

/**
 * @throws TypeError whose message goes on after the name of the variable ("… is not a URL"). It never has the password in it,
 *   which the error of `new URL` would.
 */
export function parseDatabaseUrl(text: string): DatabaseUrl {
  if (!URL.canParse(text)) throw new TypeError('is not a URL: check what is escaped')
  const url = new URL(text)
  if (!/^postgres(ql)?:$/.test(url.protocol))
    throw new TypeError(`has the scheme ${url.protocol}//: write postgres://user:password@host:port/database`)
  const unknown = [...url.searchParams.keys()].find((name) => name.startsWith('ssl') && name !== 'sslmode')
  if (unknown !== undefined) throw new TypeError(`has ${unknown}, which is not supported: ${adviceFor(unknown)}`)
  const [asked, ...others] = url.searchParams.getAll('sslmode')
  if (others.length > 0) throw new TypeError('has sslmode more than once: leave one')
  const sslmode = asked === undefined ? 'disable' : SSL_MODES.find((mode) => mode === asked)
  if (sslmode === undefined) {
    const reason = REFUSED_MODES[asked ?? ''] ?? 'is none that is known'
    throw new TypeError(`has sslmode=${asked}, which ${reason}: write one of ${SSL_MODES.join(', ')}`)
  }
  if (asked !== undefined) url.searchParams.delete('sslmode')
  return { url: asked === undefined ? text : url.href, sslmode, server: url.host }
}

function adviceFor(parameter: string): string {
  if (parameter === 'sslrootcert') return 'name the file of the CA in NODE_EXTRA_CA_CERTS'
  return `write sslmode=${SSL_MODES.join(', ')}`
}
