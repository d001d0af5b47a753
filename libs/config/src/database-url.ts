/** The servers of a database, and the options of its URL. */
interface DatabaseUrl {
  /**
   * One URL for each host, in the order of the text, without the parameters that are read here, because the two clients
   * interpret those differently.
   */
  readonly urls: readonly [string, ...string[]]
  readonly sslmode: SslMode
  /** Whether there is a pooler that may run each transaction in another session (`pooler=transaction`). */
  readonly isPooled: boolean
  /** `host:port` of all servers, separated by commas, for messages. */
  readonly server: string
}

/** As in libpq. `disable` is the default. `require` encrypts, but accepts any server. */
const SSL_MODES = ['disable', 'require', 'verify-full'] as const
export type SslMode = (typeof SSL_MODES)[number]

/** Modes of libpq that are refused, because each protects less than a reader may expect. */
const REFUSED_MODES: Readonly<Record<string, string>> = {
  allow: 'would continue without TLS',
  prefer: 'would continue without TLS',
  'verify-ca': 'would not check the name of the server',
}

/** Both values mean the same here: every session must accept writes, because every service writes. */
const SESSIONS_THAT_WRITE = ['read-write', 'primary']

/**
 * @param text `postgres://user:password@host:port/database`. Several hosts are separated by commas; one of them is the
 * primary.
 * @throws TypeError whose message continues the name of the variable ("… is not a valid URL"). Unlike the error of `new
 * URL`, it never contains the password.
 */
export function parseDatabaseUrl(text: string): DatabaseUrl {
  const texts = splitHosts(text)
  if (!texts.every((one) => URL.canParse(one)))
    throw new TypeError('is not a valid URL: percent-encode special characters')
  const urls = texts.map((one) => new URL(one))
  const [url] = urls as [URL, ...URL[]]
  if (!/^postgres(ql)?:$/.test(url.protocol))
    throw new TypeError(`has the scheme ${url.protocol}//: write postgres://user:password@host:port/database`)
  if (urls.length > 1 && urls.some(({ hostname }) => hostname === ''))
    throw new TypeError('has a comma without a host beside it')
  const unknown = [...url.searchParams.keys()].find((name) => name.startsWith('ssl') && name !== 'sslmode')
  if (unknown !== undefined) throw new TypeError(`has ${unknown}, which is not supported: ${adviceFor(unknown)}`)
  const [asked, ...others] = url.searchParams.getAll('sslmode')
  if (others.length > 0) throw new TypeError('has sslmode more than once: keep only one')
  const sslmode = asked === undefined ? 'disable' : SSL_MODES.find((mode) => mode === asked)
  if (sslmode === undefined) {
    const reason = REFUSED_MODES[asked ?? ''] ?? 'is unknown'
    throw new TypeError(`has sslmode=${asked}, which ${reason}: write one of ${SSL_MODES.join(', ')}`)
  }
  const attributes = url.searchParams.get('target_session_attrs')
  if (attributes !== null && !SESSIONS_THAT_WRITE.includes(attributes))
    throw new TypeError(`has target_session_attrs=${attributes}, which may choose a standby: write read-write`)
  const pooler = url.searchParams.get('pooler')
  if (pooler !== null && pooler !== 'transaction')
    throw new TypeError(`has pooler=${pooler}, which is unknown: write pooler=transaction, or leave it out`)
  return {
    urls: urls.map(withoutRead) as [string, ...string[]],
    sslmode,
    isPooled: pooler !== null,
    server: urls.map(({ host }) => host).join(','),
  }
}

/** One URL for each host, because `new URL` refuses several hosts. Commas in the login or in the parameters do not separate hosts. */
function splitHosts(text: string): string[] {
  const [, scheme = '', authority = '', rest = ''] = /^([a-z][a-z0-9+.-]*:\/\/)([^/?#]*)(.*)$/is.exec(text) ?? []
  if (authority === '') return [text]
  const at = authority.lastIndexOf('@') + 1
  const hosts = authority.slice(at).split(',')
  return hosts.map((host) => `${scheme}${authority.slice(0, at)}${host}${rest}`)
}

const READ_HERE = ['sslmode', 'target_session_attrs', 'pooler']

function withoutRead(url: URL): string {
  for (const name of READ_HERE) if (url.searchParams.has(name)) url.searchParams.delete(name)
  return url.href
}

function adviceFor(parameter: string): string {
  if (parameter === 'sslrootcert') return 'name the file of the CA in NODE_EXTRA_CA_CERTS'
  return `write sslmode=${SSL_MODES.join(', ')}`
}
