import { ServiceError } from '@svc/contracts/errors.ts'
import type { Database, Tx } from './database.ts'

/** What an operator asks for may look at all of a table. */
const STATEMENT_SECONDS = 55
/** The client's own deadline, a little later than the server's. */
const REPORT_MS = 58_000

/**
 * Runs queries that only read, all on one snapshot, with time and with the plans that whole tables take: for verification
 * and the like, never for what a client waits for. It holds one connection, and no lock that a service would wait for; where
 * the pool gives its silent connections up meanwhile it ends as well, and may be repeated.
 * @throws ServiceError `unavailable` where the database is lost or it takes too long.
 */
export async function runReport<T>({ sql }: Database, work: (tx: Tx) => Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new ServiceError('unavailable')), REPORT_MS)
  const report = sql.begin('isolation level repeatable read read only', async (tx) => {
    await tx`
      select set_config('statement_timeout', ${`${STATEMENT_SECONDS}s`}, true),
        set_config('plan_cache_mode', 'force_custom_plan', true), set_config('enable_seqscan', 'on', true),
        set_config('enable_hashjoin', 'on', true), set_config('enable_mergejoin', 'on', true)`
    return work(tx)
  }) as Promise<T>
  try {
    return await Promise.race([report, late.promise])
  } catch (error) {
    throw error instanceof ServiceError ? error : asUnavailable(error)
  } finally {
    clearTimeout(timer)
    report.catch(() => {}) // where nobody waits for it any more
  }
}

/** 57014: the time is over. What else ends a read-only transaction is a lost database, or a fault of the query. */
function asUnavailable(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return /^(57|08|53|58|CONN|ECONN|EPIPE|ETIMEDOUT)/.test(code)
    ? new ServiceError('unavailable', { cause: error })
    : error
}
