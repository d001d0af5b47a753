import type { ConnectionOptions } from 'node:tls'
import { parseDatabaseUrl, type SslMode } from '@svc/config/database-url.ts'
import { explainNoTls, explainTlsFailure, TlsError } from '@svc/tls/failure.ts'
import { trustedContext } from '@svc/tls/trust.ts'

/** A URL that both clients read alike: without `sslmode`, which each interprets differently, and with the TLS options of Node. */
export interface PostgresServer {
  readonly url: string
  readonly ssl: false | ConnectionOptions
  /** @returns a TlsError if the error comes from TLS, otherwise the error itself. */
  asTlsError(error: unknown): unknown
}

/** @throws TypeError if the URL is invalid, or asks for something that is not supported. */
export function parseServer(databaseUrl: string): PostgresServer {
  const { url, sslmode, server } = parseDatabaseUrl(databaseUrl)
  const about = { name: `Postgres at ${server}`, variable: 'SVC_DATABASE_URL' }
  return {
    url,
    ssl: tlsFor(sslmode),
    asTlsError(error) {
      const problem = isNoTls(error) ? explainNoTls(about, 'sslmode=disable') : explainTlsFailure(error, about)
      return problem === undefined ? error : new TlsError(problem, { cause: error })
    },
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

const PG_NO_TLS = 'The server does not support SSL connections'
