import type { ConnectionOptions } from 'node:tls'
import { parseDatabaseUrl, type SslMode } from '@svc/config/database-url.ts'
import { explainNoTls, explainTlsFailure, TlsError } from '@svc/tls/failure.ts'
import { trustedContext } from '@svc/tls/trust.ts'
import type { Options } from 'postgres'

/**
 * A Postgres server, as both clients (`pg` and `postgres`) need it. They read some URL parameters differently, so the
 * URLs here have none of those, and TLS is given as Node's options.
 */
export interface PostgresServer {
  /** One URL for each host. One of the hosts is the primary. */
  readonly urls: readonly [string, ...string[]]
  /** Whether each transaction may run in another session of the server, because a pooler is in between. */
  readonly isPooled: boolean
  readonly ssl: false | ConnectionOptions
  /** @returns a TlsError if the error comes from TLS, otherwise the error itself. */
  asTlsError(error: unknown): unknown
}

/** @throws TypeError if the URL is invalid, or asks for something that is not supported. */
export function parseServer(databaseUrl: string): PostgresServer {
  const { urls, isPooled, sslmode, server } = parseDatabaseUrl(databaseUrl)
  const about = { name: `Postgres at ${server}`, variable: 'SVC_DATABASE_URL' }
  return {
    urls,
    isPooled,
    ssl: tlsFor(sslmode),
    asTlsError(error) {
      const problem = isNoTls(error) ? explainNoTls(about, 'sslmode=disable') : explainTlsFailure(error, about)
      return problem === undefined ? error : new TlsError(problem, { cause: error })
    },
  }
}

/**
 * The options of `postgres` for this server: it tries the hosts in turn, and uses only a host that accepts writes. A pooler may
 * report the state of a server that it no longer uses, so with a pooler only the errors of statements count.
 */
export function driverOptions({
  urls,
  ssl,
  isPooled,
}: PostgresServer): Pick<Options<never>, 'ssl' | 'target_session_attrs'> {
  const hosts = urls.map((url) => new URL(url))
  // Lists are missing in the driver's types.
  const several: object = {
    host: hosts.map(({ hostname }) => hostname),
    port: hosts.map(({ port }) => Number(port || DEFAULT_PORT)),
  }
  return {
    ssl,
    ...(isPooled ? {} : { target_session_attrs: 'read-write' }),
    ...(hosts.length === 1 ? {} : several),
  }
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

export const DEFAULT_PORT = 5432
const PG_NO_TLS = 'The server does not support SSL connections'
