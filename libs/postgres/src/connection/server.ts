import type { ConnectionOptions } from 'node:tls'
import { type DatabaseUrl, parseDatabaseUrl, type SslMode } from '@svc/config/database-url.ts'
import { explainNoTls, explainTlsFailure, TlsError } from '@svc/tls/failure.ts'
import { trustedContext } from '@svc/tls/trust.ts'
import postgres, { type Options } from 'postgres'

/** A Postgres server, as both clients (`pg` and `postgres`) need it. TLS is given as Node's options. */
export interface PostgresServer
  extends Pick<
    DatabaseUrl,
    'hosts' | 'user' | 'database' | 'options' | 'applicationName' | 'isPooled' | 'sslnegotiation' | 'ignored'
  > {
  /** A function, so that an empty password is not replaced by PGPASSWORD or a file. */
  readonly password: () => string
  readonly ssl: false | ConnectionOptions
  /** Everything except user and password. Two servers with the same place differ only in the login. */
  readonly place: string
  /** @returns a TlsError if the error comes from TLS, otherwise the error itself. */
  asTlsError(error: unknown): unknown
  /** The same, and a LoginError if the server refuses the login. */
  asConnectionError(error: unknown): unknown
}

/** @throws TypeError if the URL is invalid, or asks for something that is not supported. */
export function parseServer(databaseUrl: string): PostgresServer {
  const { password, sslmode, server, ...parsed } = parseDatabaseUrl(databaseUrl)
  const place = JSON.stringify({ sslmode, server, ...parsed, user: '' })
  const about = { name: `Postgres at ${server}`, variable: 'SVC_DATABASE_URL' }
  const asTlsError = (error: unknown): unknown => {
    const problem = isNoTls(error) ? explainNoTls(about, 'sslmode=disable') : explainTlsFailure(error, about)
    return problem === undefined ? error : new TlsError(problem, { cause: error })
  }
  return {
    ...parsed,
    password: () => password,
    ssl: tlsFor(sslmode),
    place,
    asTlsError,
    asConnectionError(error) {
      if (!isLoginRefused(error)) return asTlsError(error)
      return new LoginError(
        `${about.name} refuses the login in ${about.variable} (${error.message}): compare it with the roles of Postgres.`,
        { cause: error },
      )
    },
  }
}

/** The message says which login is refused, and what to do. */
export class LoginError extends Error {
  override name = 'LoginError'
}

/** A wrong password, a role that does not exist or may not log in, or a rule of pg_hba.conf. */
function isLoginRefused(error: unknown): error is postgres.PostgresError {
  return error instanceof postgres.PostgresError && ['28P01', '28000'].includes(error.code)
}

/**
 * The options of `postgres` for this server: it tries the hosts in turn, and uses only a host that accepts writes. A pooler may
 * report the state of a server that it no longer uses, so with a pooler only the errors of statements count.
 */
export function driverOptions({
  hosts,
  user,
  password,
  database,
  ssl,
  sslnegotiation,
  isPooled,
}: PostgresServer): Options<never> {
  // Missing in the driver's types: lists of hosts, and how TLS begins.
  const untyped: object = { host: hosts.map(({ host }) => host), port: hosts.map(({ port }) => port), sslnegotiation }
  return {
    ...untyped,
    user,
    password,
    database,
    ssl,
    ...(isPooled ? {} : { target_session_attrs: 'read-write' }),
  }
}

/** The parameters of the driver's greeting. The name in the URL counts, as in libpq. */
export function greetingOf(
  { options, applicationName }: PostgresServer,
  application: string,
): { application_name: string; options?: string } {
  return { application_name: applicationName ?? application, ...(options === undefined ? {} : { options }) }
}

function tlsFor(sslmode: SslMode): false | ConnectionOptions {
  if (sslmode === 'disable') return false
  // Set it in both cases, so that NODE_TLS_REJECT_UNAUTHORIZED has no effect.
  if (sslmode === 'require') return { rejectUnauthorized: false }
  return { rejectUnauthorized: true, secureContext: trustedContext() }
}

/** Whether the server does not support TLS. `postgres` reports a code for it (patches/), `pg` only a text. */
function isNoTls(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return ('code' in error && error.code === 'SSL_NOT_OFFERED') || error.message === PG_NO_TLS
}

const PG_NO_TLS = 'The server does not support SSL connections'
