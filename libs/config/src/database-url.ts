import { isIPv6 } from 'node:net'
import { ruleOut } from './database-parameters.ts'

/** A database, as its URL names it. The clients get these values and never the URL, because each reads its parameters differently. */
export interface DatabaseUrl {
  /** In the order of the text. One of them is the primary. */
  readonly hosts: readonly [DatabaseHost, ...DatabaseHost[]]
  readonly user: string
  /** Empty if the URL has none. */
  readonly password: string
  readonly database: string
  readonly sslmode: SslMode
  /** `direct`: TLS begins at once, without asking the server for it (Postgres 17 and later). */
  readonly sslnegotiation: 'postgres' | 'direct'
  /** Settings of the session, as `-c name=value`, or a name that the hoster's proxy reads. */
  readonly options: string | undefined
  readonly applicationName: string | undefined
  /** Whether there is a pooler that may run each transaction in another session. */
  readonly isPooled: boolean
  /** `host:port` of all servers as in the URL, separated by commas, for messages. */
  readonly server: string
  /** Parameters that change nothing, each with the reason, for the log. */
  readonly ignored: readonly string[]
}

interface DatabaseHost {
  readonly host: string
  readonly port: number
}

/** As in libpq. `disable` is the default. `require` encrypts, but accepts any server. */
const SSL_MODES = ['disable', 'require', 'verify-full'] as const
export type SslMode = (typeof SSL_MODES)[number]

/** Modes that are refused, because each protects less than a reader may expect. */
const REFUSED_MODES: Readonly<Record<string, string>> = {
  allow: 'would continue without TLS',
  prefer: 'would continue without TLS',
  'verify-ca': 'would not check the name of the server',
  'no-verify': 'is unknown to libpq, which calls it require',
}

/** Both values mean the same here: every session must accept writes, because every service writes. */
const SESSIONS_THAT_WRITE = ['read-write', 'primary']

const DEFAULT_PORT = 5432
const URI = /^([a-z][a-z0-9+.-]*):\/\/([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/is
const NOT_A_URL = 'is not a valid URL: percent-encode special characters of the password, such as %40 for @'
const FORM = 'write postgres://user:password@host:port/database'
/** Other ways to write a connection, and what to answer. */
const OTHER_FORMS: [RegExp, string][] = [
  [/^jdbc:/i, `is a URL of JDBC: ${FORM}`],
  [/^\s*[a-z_]+\s*=/i, `is a list of keywords and values: ${FORM}`],
]

type Parameters = ReadonlyMap<string, string>

/**
 * @param text `postgres://user:password@host:port/database?name=value`, as libpq reads it. Several hosts are separated by commas.
 * @throws TypeError whose message continues the name of the variable ("… is not a valid URL"). It never contains the password.
 */
export function parseDatabaseUrl(text: string): DatabaseUrl {
  const [, scheme = '', authority = '', path = '', query = ''] = URI.exec(text) ?? []
  // A password with an unencoded slash or question mark ends the authority. Parts of it must not appear in a message.
  const isCutOff = !authority.includes('@') && (path.includes('@') || query.includes('@'))
  if (scheme === '' || isCutOff) throw new TypeError(OTHER_FORMS.find(([form]) => form.test(text))?.[1] ?? NOT_A_URL)
  if (!/^postgres(ql)?$/i.test(scheme)) throw new TypeError(`has the scheme ${scheme}://: ${FORM}`)
  const { parameters, ignored } = readParameters(query)
  const at = authority.lastIndexOf('@')
  const [, login = '', secret = ''] = /^([^:]*):?(.*)$/s.exec(authority.slice(0, Math.max(at, 0))) ?? []
  const { hosts, server } = readHosts(authority.slice(at + 1), parameters)
  const user = parameters.get('user') ?? decode(login)
  if (user === '') throw new TypeError(`names no user: ${FORM}`)
  return {
    hosts,
    user,
    password: parameters.get('password') ?? decode(secret),
    database: parameters.get('dbname') ?? (decode(path) || user),
    ...readTls(parameters),
    options: parameters.get('options'),
    applicationName: parameters.get('application_name'),
    isPooled: readPooler(parameters),
    server,
    ignored,
  }
}

/**
 * The URL with another login or database. Everything else stays as it is written.
 * @throws TypeError as `parseDatabaseUrl`.
 */
export function changeDatabaseUrl(
  text: string,
  changes: Partial<Pick<DatabaseUrl, 'user' | 'password' | 'database'>>,
): string {
  const { user, password, database } = { ...parseDatabaseUrl(text), ...changes }
  const [, , authority = '', , query = ''] = URI.exec(text) ?? []
  // These would count more than what stands before them.
  const isReplaced = (pair: string): boolean => /^(user|password|dbname)$/.test(decode(pair.split('=', 1)[0] ?? ''))
  const kept = query.split('&').filter((pair) => pair !== '' && !isReplaced(pair))
  const login = [user, password].map(encodeURIComponent).join(':')
  const place = `${authority.slice(authority.lastIndexOf('@') + 1)}/${encodeURIComponent(database)}`
  return `postgres://${login}@${place}${kept.length === 0 ? '' : `?${kept.join('&')}`}`
}

/** Unlike in forms, a plus sign is a plus sign. */
function readParameters(query: string): { parameters: Parameters; ignored: string[] } {
  const parameters = new Map<string, string>()
  const ignored: string[] = []
  for (const pair of query.split('&').filter((one) => one !== '')) {
    const [, written = '', text = ''] = /^([^=]*)=?(.*)$/s.exec(pair) ?? []
    const [name, value] = [decode(written), decode(text)]
    if (parameters.has(name)) throw new TypeError(`has ${name} more than once: keep only one`)
    parameters.set(name, value)
    const reason = ruleOut(name, value, { mayBeSecret: parameters.has('password') })
    if (reason !== undefined) ignored.push(reason)
  }
  const attributes = parameters.get('target_session_attrs')
  if (attributes !== undefined && !SESSIONS_THAT_WRITE.includes(attributes))
    throw new TypeError(`has target_session_attrs=${attributes}, which may choose a standby: write read-write`)
  return { parameters, ignored }
}

/** Parameters replace what the authority says, as in libpq. One port may be for all hosts. */
function readHosts(authority: string, parameters: Parameters): Pick<DatabaseUrl, 'hosts' | 'server'> {
  const named = authority.split(',').map((one) => {
    const [, host, port = ''] = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/s.exec(one) ?? []
    if (host === undefined) throw new TypeError(NOT_A_URL)
    return { host: decode(host).replace(/^\[(.*)\]$/s, '$1'), port }
  })
  const names = parameters.get('host')?.split(',') ?? named.map(({ host }) => host)
  const ports = parameters.get('port')?.split(',') ?? named.map(({ port }) => port)
  if (ports.length > 1 && ports.length !== names.length)
    throw new TypeError(`has ${names.length} hosts and ${ports.length} ports: write one port, or one for each host`)
  const hosts = names.map((host, at) => ({ host, port: readPort((ports.length === 1 ? ports[0] : ports[at]) ?? '') }))
  if (hosts.some(({ host }) => host.startsWith('/') || host.startsWith('@')))
    throw new TypeError('names a Unix socket, which is not supported: write a host and a port')
  if (hosts.length > 1 && names.includes('')) throw new TypeError('has a comma without a host beside it')
  if (names.includes('')) throw new TypeError('names no host: write postgres://user:password@host:port/database')
  if (!names.every((host) => isIPv6(host) || /^[a-z0-9._-]+$/i.test(host))) throw new TypeError(NOT_A_URL)
  const [first, ...others] = hosts as [DatabaseHost, ...DatabaseHost[]]
  const written = hosts.map(({ host, port }, at) => {
    const given = ports.length === 1 ? ports[0] : ports[at]
    return `${isIPv6(host) ? `[${host}]` : host}${given ? `:${port}` : ''}`
  })
  return { hosts: [first, ...others], server: written.join(',') }
}

function readPort(text: string): number {
  const port = text === '' ? DEFAULT_PORT : Number(text)
  // A password with an unencoded slash looks like a port.
  if (!/^\d*$/.test(text) || port < 1 || port > 65_535) throw new TypeError(NOT_A_URL)
  return port
}

function readTls(parameters: Parameters): Pick<DatabaseUrl, 'sslmode' | 'sslnegotiation'> {
  const [ssl, root] = [parameters.get('ssl'), parameters.get('sslrootcert')]
  if (ssl !== undefined && ssl !== 'true')
    throw new TypeError(`has ssl=${ssl}, which is unknown: write sslmode instead`)
  if (root !== undefined && root !== 'system')
    throw new TypeError('has sslrootcert, which is not supported: name the file of the CA in NODE_EXTRA_CA_CERTS')
  const asked =
    parameters.get('sslmode') ?? (root === 'system' ? 'verify-full' : ssl === 'true' ? 'require' : 'disable')
  const sslmode = SSL_MODES.find((mode) => mode === asked)
  if (sslmode === undefined) {
    const reason = REFUSED_MODES[asked] ?? 'is unknown'
    throw new TypeError(`has sslmode=${asked}, which ${reason}: write one of ${SSL_MODES.join(', ')}`)
  }
  if (root === 'system' && sslmode !== 'verify-full')
    throw new TypeError(`has sslrootcert=system with sslmode=${sslmode}: write sslmode=verify-full`)
  if (ssl === 'true' && sslmode === 'disable') throw new TypeError('has ssl=true with sslmode=disable: keep only one')
  const negotiation = parameters.get('sslnegotiation') ?? 'postgres'
  if (negotiation !== 'postgres' && negotiation !== 'direct')
    throw new TypeError(`has sslnegotiation=${negotiation}, which is unknown: write postgres or direct`)
  if (negotiation === 'direct' && sslmode === 'disable')
    throw new TypeError('has sslnegotiation=direct without TLS: write sslmode=verify-full')
  return { sslmode, sslnegotiation: negotiation }
}

/** `pgbouncer=true` is how Prisma writes `pooler=transaction`. */
function readPooler(parameters: Parameters): boolean {
  const [pooler, pgbouncer] = [parameters.get('pooler'), parameters.get('pgbouncer')]
  if (pooler !== undefined && pooler !== 'transaction')
    throw new TypeError(`has pooler=${pooler}, which is unknown: write pooler=transaction, or leave it out`)
  if (pgbouncer !== undefined && pgbouncer !== 'true')
    throw new TypeError(`has pgbouncer=${pgbouncer}, which is unknown: write pooler=transaction, or leave it out`)
  return pooler !== undefined || pgbouncer !== undefined
}

function decode(text: string): string {
  try {
    const decoded = decodeURIComponent(text)
    if (!decoded.includes('\0')) return decoded
  } catch {
    // Reported below, like NUL, which ends a text in the protocol of Postgres.
  }
  throw new TypeError(NOT_A_URL)
}
