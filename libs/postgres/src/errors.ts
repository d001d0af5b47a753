/** What an error of Postgres, of its driver or of the connection means for a caller. */
import { ServiceError } from '@svc/contracts/errors.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { sayOnce } from '@svc/telemetry/problem-log.ts'
import { TlsError } from '@svc/tls/failure.ts'
import postgres from 'postgres'
import { LoginError, type PostgresServer } from './connection/server.ts'

/** Attempts at a transaction that fails with a deadlock or a serialization failure. */
export const MAX_ATTEMPTS = 5
const CONFLICTS = new Set(['40P01', '40001'])

/** Retries `work` after a deadlock or a serialization failure (40P01, 40001). The failed transaction had no effect. */
export async function retryOnConflict<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      if (attempt >= MAX_ATTEMPTS || !isConflict(error)) throw error
    }
  }
}

/** Whether a statement failed because it did not get a lock within its `lock_timeout`. It had no effect. */
export function isLockTimeout(error: unknown): boolean {
  return sqlStateOf(unwrap(error)) === LOCK_NOT_AVAILABLE
}

/** Whether a transaction failed because of another one. It had no effect, and may be retried at once. */
export function isConflict(error: unknown): boolean {
  return CONFLICTS.has(sqlStateOf(unwrap(error)))
}

/** SQLSTATE classes of a database that is unavailable: 08 connection, 53 resources, 57 operator intervention, 58 system. */
const UNAVAILABLE_CLASSES = new Set(['08', '53', '57', '58'])
const LOCK_NOT_AVAILABLE = '55P03'
const UNAVAILABLE_CODES = new Set([
  '25006', // a standby, after a failover
  'TARGET_SESSION_ATTRS', // the same, noticed by the driver before it sent anything
  LOCK_NOT_AVAILABLE,
  'CONNECTION_CLOSED',
  'CONNECTION_DESTROYED',
  'CONNECTION_ENDED',
  'CONNECT_TIMEOUT',
  'EAI_AGAIN',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ENOENT',
  'ETIMEDOUT',
  'QUERY_TIMEOUT',
])

/** Translates errors of the driver for callers. Also logs a TLS failure or a refused login, once a minute, because no retry fixes it. */
export function serviceErrors(
  { asConnectionError }: Pick<PostgresServer, 'asConnectionError'>,
  logger: Logger,
): (error: unknown) => unknown {
  const logProblem = sayOnce((problem) => logger.error(problem))
  return (error) => {
    const cause = asConnectionError(error)
    if (cause instanceof TlsError || cause instanceof LoginError) {
      logProblem(cause.message)
      return new ServiceError('unavailable', { cause })
    }
    const code = sqlStateOf(error)
    const lost =
      endsConnection(error) ||
      isStorageError(error) ||
      UNAVAILABLE_CODES.has(code) ||
      (code.length === 5 && UNAVAILABLE_CLASSES.has(code.slice(0, 2)))
    return lost || CONFLICTS.has(code) ? new ServiceError('unavailable', { cause: error }) : error
  }
}

/**
 * An error of this severity ends the connection, and its SQLSTATE may be any: 55000 for a database that takes no connections,
 * 3D000 for one that was renamed, 28P01 for a wrong password.
 */
function endsConnection(error: unknown): boolean {
  const severity = error instanceof postgres.PostgresError ? error.severity : undefined
  return severity === 'FATAL' || severity === 'PANIC'
}

/** A file cannot grow or be read, for a reason without an SQLSTATE. Postgres then reports XX000 and its own source file. */
function isStorageError(error: unknown): boolean {
  return error instanceof postgres.PostgresError && error.code === 'XX000' && error.file === 'md.c'
}

function unwrap(error: unknown): unknown {
  return error instanceof ServiceError ? error.cause : error
}

/** The SQLSTATE, the driver's code or the system's code; empty if there is none. */
export function sqlStateOf(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : ''
}
