import type { ConnectionOptions } from 'node:tls'
import { parseDatabaseUrl, type SslMode } from '@svc/config/database-url.ts'
import { explainNoTls, explainTlsFailure, TlsError } from '@svc/tls/failure.ts'
import { trustedContext } from '@svc/tls/trust.ts'

/** A URL as both clients read it alike: without `sslmode`, of which each has its own idea, and with TLS as Node means it. */
export interface PostgresServer {
  readonly url: string
  readonly ssl: false | ConnectionOptions
  /** @returns TlsError if the error is one of TLS, else the error itself. */
  asTlsError(error: unknown): unknown
}

/** @throws TypeError if the URL is none, or asks for what is not to be had. */
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
  // Said for both, so that NODE_TLS_REJECT_UNAUTHORIZED decides for neither.
  if (sslmode === 'require') return { rejectUnauthorized: false }
  return { rejectUnauthorized: true, secureContext: trustedContext() }
}

/** `postgres` has a code for it (patches/), `pg` has its text alone. */
function isNoTls(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return ('code' in error && error.code === 'SSL_NOT_OFFERED') || error.message === PG_NO_TLS
}

const PG_NO_TLS = 'The server does not support SSL connections'
