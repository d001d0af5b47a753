/** What each parameter of a database's URL does here. The table has every parameter of libpq, and those of other clients that hosters write. */

type Rule =
  /** `parseDatabaseUrl` reads it. */
  | { readonly read: true }
  /** Changes nothing here, and says why in the log. With `values`, every other value is refused. */
  | { readonly ignored: string; readonly values?: RegExp; readonly otherwise?: string }
  /** Would change something that no client of ours supports. The text says what to do instead. */
  | { readonly refused: string }

const READ: Rule = { read: true }
const SILENT_CONNECTIONS: Rule = { ignored: 'every process notices silent connections by deadlines of its own' }
const NO_KERBEROS: Rule = { ignored: 'no process logs in with Kerberos' }
const NO_CLIENT_CERTIFICATE: Rule = {
  refused: 'processes log in with a password and not with a certificate: remove it',
}
const NO_REVOCATION: Rule = { refused: 'processes read no lists of revoked certificates: remove it' }
const ONLY_PASSWORDS: Rule = { refused: 'processes log in with a password: write user and password into the URL' }
const POOL_SIZE: Rule = { refused: 'set SVC_DATABASE_POOL instead, and remove it' }
const NO_STATEMENTS: Rule = {
  refused: 'if the host is that of a pooler, write pooler=transaction in its place, otherwise remove it',
}
const TLS_MODE: Rule = { refused: 'write sslmode=verify-full in its place' }
const NO_SCHEMA: Rule = { refused: 'each service has a schema of its own name: remove it' }

const RULES: Readonly<Record<string, Rule>> = {
  host: READ,
  port: READ,
  user: READ,
  password: READ,
  dbname: READ,
  options: READ,
  application_name: READ,
  sslmode: READ,
  ssl: READ,
  sslrootcert: READ,
  sslnegotiation: READ,
  target_session_attrs: READ,
  pooler: READ,
  pgbouncer: READ,

  hostaddr: { refused: 'write the address in place of the name of the host' },
  passfile: { refused: 'write the password into the URL, which may come from the file in SVC_DATABASE_URL_FILE' },
  service: { refused: 'write host, port, user and database into the URL' },
  servicefile: { refused: 'write host, port, user and database into the URL' },
  connect_timeout: { ignored: 'every process has its own deadline to connect' },
  client_encoding: {
    ignored: 'the encoding is always UTF8',
    values: /^(utf-?8|auto)$/i,
    otherwise: 'the encoding is always UTF8: remove it',
  },
  fallback_application_name: { ignored: 'every process has a name of its own' },
  keepalives: SILENT_CONNECTIONS,
  keepalives_idle: SILENT_CONNECTIONS,
  keepalives_interval: SILENT_CONNECTIONS,
  keepalives_count: SILENT_CONNECTIONS,
  tcp_user_timeout: SILENT_CONNECTIONS,
  replication: {
    ignored: 'no process replicates',
    values: /^(false|off|no|0)$/,
    otherwise: 'processes need ordinary sessions: remove it',
  },
  load_balance_hosts: { ignored: 'every process looks for the host that accepts writes' },

  channel_binding: {
    ignored: 'no process binds its login to the TLS connection',
    values: /^(disable|prefer)$/,
    otherwise: 'processes cannot bind a login to the TLS connection: remove it, and write sslmode=verify-full instead',
  },
  require_auth: {
    refused:
      'processes use the method that the server asks for: remove it, and keep other servers out with sslmode=verify-full',
  },
  scram_client_key: ONLY_PASSWORDS,
  scram_server_key: ONLY_PASSWORDS,
  oauth_issuer: ONLY_PASSWORDS,
  oauth_client_id: ONLY_PASSWORDS,
  oauth_client_secret: ONLY_PASSWORDS,
  oauth_scope: ONLY_PASSWORDS,
  requirepeer: { refused: 'it is for Unix sockets: remove it' },
  gssencmode: {
    ignored: 'no process encrypts with Kerberos',
    values: /^(disable|prefer)$/,
    otherwise: 'encryption with Kerberos is not supported: remove it, and write sslmode=verify-full instead',
  },
  krbsrvname: NO_KERBEROS,
  gsslib: NO_KERBEROS,
  gssdelegation: NO_KERBEROS,

  requiressl: { refused: 'write sslmode=require, or better sslmode=verify-full' },
  sslcompression: { ignored: 'TLS is never compressed' },
  sslcert: NO_CLIENT_CERTIFICATE,
  sslkey: NO_CLIENT_CERTIFICATE,
  sslpassword: NO_CLIENT_CERTIFICATE,
  sslcertmode: {
    ignored: 'no process has a certificate for Postgres',
    values: /^(disable|allow)$/,
    otherwise: 'processes log in with a password and not with a certificate: remove it',
  },
  sslcrl: NO_REVOCATION,
  sslcrldir: NO_REVOCATION,
  sslkeylogfile: { refused: 'keys of TLS are never written: remove it' },
  sslsni: {
    ignored: 'TLS always names the host',
    values: /^1$/,
    otherwise: 'TLS always names the host: remove it',
  },
  ssl_min_protocol_version: {
    ignored: 'TLS is 1.2 or later',
    values: /^TLSv1(\.[12])?$/,
    otherwise: 'TLS is 1.2 or later: set the version on the server, and remove it',
  },
  ssl_max_protocol_version: {
    ignored: 'TLS is at most 1.3',
    values: /^(TLSv1\.3)?$/,
    otherwise: 'set the version on the server, and remove it',
  },
  min_protocol_version: {
    ignored: 'the protocol of Postgres is 3.0',
    values: /^3\.0$/,
    otherwise: 'the protocol of Postgres is 3.0: remove it',
  },
  max_protocol_version: { ignored: 'the protocol of Postgres is 3.0' },

  // node-postgres, Prisma, Supabase, JDBC, pgx, asyncpg, Rails, and other clients.
  uselibpqcompat: { ignored: 'sslmode always means what it means to libpq' },
  supa: { ignored: 'only Supabase reads it' },
  workaround: { ignored: 'only other clients read it' },
  schema: {
    ignored: 'each service has a schema of its own name',
    values: /^public$/,
    otherwise: 'each service has a schema of its own name: remove it',
  },
  connection_limit: POOL_SIZE,
  pool_timeout: POOL_SIZE,
  pool: POOL_SIZE,
  pool_size: POOL_SIZE,
  max_pool_size: POOL_SIZE,
  pool_max_conns: POOL_SIZE,
  statement_cache_size: NO_STATEMENTS,
  prepared_statement_cache_size: NO_STATEMENTS,
  prepared_statements: NO_STATEMENTS,
  prepareThreshold: NO_STATEMENTS,
  default_query_exec_mode: NO_STATEMENTS,
  sslaccept: TLS_MODE,
  sslfactory: TLS_MODE,
  currentSchema: NO_SCHEMA,
  search_path: NO_SCHEMA,
}

/**
 * @returns why the parameter changes nothing; undefined if `parseDatabaseUrl` reads it.
 * @param mayBeSecret whether an unknown name may be the rest of a password with an unencoded `&`.
 * @throws TypeError whose message continues the name of the variable, and never has a value that may be secret.
 */
export function ruleOut(name: string, value: string, { mayBeSecret = false } = {}): string | undefined {
  const rule = Object.hasOwn(RULES, name) ? RULES[name] : undefined
  if (rule === undefined && mayBeSecret)
    throw new TypeError('has an unknown parameter after the password: if & is a character of the password, write %26')
  if (rule === undefined)
    throw new TypeError(
      `has ${name}, which is no parameter of Postgres: remove it. If it is a setting of the session, write options=-c%20${name}=value`,
    )
  if ('read' in rule) return undefined
  if ('refused' in rule) throw new TypeError(`has ${name}, which is not supported: ${rule.refused}`)
  if (rule.values !== undefined && !rule.values.test(value))
    throw new TypeError(`has ${name}=${value}, which is not supported: ${rule.otherwise}`)
  return `${name} changes nothing: ${rule.ignored}`
}
