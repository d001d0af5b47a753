import { ServiceError } from '@svc/contracts/errors.ts'
import type { Database, Tx } from './database.ts'

/** A query of an operator may read a whole table. */
const STATEMENT_SECONDS = 55
/** The client's deadline, a little later than the server's. */
const REPORT_MS = 58_000

/**
 * Runs read-only queries on one snapshot, with the time and the plans that whole tables need. Use it for verification and the
 * like, never for a request that a client waits for. It holds one connection, and no lock that a service would wait for. If the
 * pool closes its silent connections in the meantime, the report ends too, and may be repeated.
 * @throws ServiceError `unavailable` if the database is lost or the report takes too long.
 */
export async function runReport<T>({ sql }: Database, work: (tx: Tx) => Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => late.reject(new ServiceError('unavailable', { cause: new Error('the report takes too long') })),
    REPORT_MS,
  )
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
    report.catch(() => {}) // after the deadline nobody awaits it
  }
}

/** Below the deadline of a call that erases. */
const ERASURE_SECONDS = 20

/**
 * Runs the last step of an erasure, which may have to search whole tables for an agent, because no request needs an index for
 * that. Repeatable, and rare.
 * @throws ServiceError `unavailable` if the database is lost or a statement takes too long. Nothing has changed then.
 */
export async function runErasure<T>({ sql }: Database, work: (tx: Tx) => Promise<T>): Promise<T> {
  try {
    return (await sql.begin(async (tx) => {
      await tx`select set_config('statement_timeout', ${`${ERASURE_SECONDS}s`}, true), set_config('enable_seqscan', 'on', true)`
      return await work(tx)
    })) as T
  } catch (error) {
    throw error instanceof ServiceError ? error : asUnavailable(error)
  }
}

/** 57014 is a statement timeout. Otherwise a read-only transaction fails because of a lost database or a faulty query. */
function asUnavailable(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return /^(57|08|53|58|CONN|ECONN|EPIPE|ETIMEDOUT)/.test(code)
    ? new ServiceError('unavailable', { cause: error })
    : error
}
