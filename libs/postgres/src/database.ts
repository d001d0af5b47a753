import { ServiceError } from '@svc/contracts/errors.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { sayOnce } from '@svc/telemetry/problem-log.ts'
import { TlsError } from '@svc/tls/failure.ts'
import postgres from 'postgres'
import { type PostgresServer, parseServer } from './server.ts'
import { createSockets } from './sockets.ts'
import { watchStatements } from './statements.ts'
import { createTurns } from './turns.ts'

export type Sql = postgres.Sql
/** A connection inside a transaction. */
export type Tx = postgres.TransactionSql

export interface DatabaseOptions {
  /** `postgres://user:password@host:port/database?sslmode=…` (libs/config, database-url.ts). */
  url: string
  /** Shown in pg_stat_activity. */
  application: string
  logger: Logger
  /** Connections at most; pool size × processes must stay under the server's max_connections. */
  poolSize?: number
  /** The server gives a statement up after this; the client itself waits `QUERY_GRACE_MS` longer. */
  statementTimeoutMs?: number
}

/**
 * Every statement of a service is a few index lookups for a handful of keys. Its plan must not depend on what the
 * statistics said when it was cached: one made while a table was empty would scan it for ever after. And planning each
 * call anew costs more than the statement (measured for a preflight of one: 1.0 ms against 0.1 ms).
 */
const STABLE_PLANS = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
}

const DEFAULT_POOL_SIZE = 8
/**
 * Of the connections, for transactions with several round trips. They wait for locks while other statements are there to be
 * run: however many transactions wait for one row, single statements have the other half.
 */
const TRANSACTION_SHARE = 1 / 2
/** A transaction waits this long for each lock. Then it gives its connection to the next one, and begins again behind it. */
const LOCK_TURN_MS = 250
const DEFAULT_STATEMENT_TIMEOUT_MS = 4_000
/**
 * The client's own deadline is later than the server's, so that the server's clearer error comes first where it can. It only
 * passes where the server says nothing, so a connection of which nothing was heard for that long is half open, and is ended.
 */
const QUERY_GRACE_MS = 500
/** A timer may be so much early, by another clock. */
const TIMER_MS = 10
/**
 * Work of a pool that the database has not finished, at most; past it there is `unavailable` at once. What nobody waits for any
 * more counts, since the driver keeps it for as long as the database is away.
 */
export const MAX_UNDER_WAY = 1_000
/** How the server finds out that a client is gone without a word, whose session may hold locks and counts as a connection. */
const NOTICE_LOST_CLIENTS = {
  tcp_keepalives_idle: 10,
  tcp_keepalives_interval: 5,
  tcp_keepalives_count: 3,
  tcp_user_timeout: 25_000,
}
const CONNECT_TIMEOUT_SECONDS = 3
/**
 * A query may wait this long before the next attempt to connect. The driver's own wait grows to 20 s, shared by the pool,
 * so that while a database is gone every query runs into its deadline, and when it is back the pool is not, for as long.
 */
const RECONNECT_SECONDS = 0.5
const CLOSE_TIMEOUT_SECONDS = 5

export interface Database extends AsyncDisposable {
  readonly sql: Sql
  /**
   * Runs one query, or one function with several, under a deadline of the client's own: the driver has none, and a
   * connection that died during its start would leave the query waiting for ever (ADR 22).
   * @throws ServiceError `unavailable` where the database is lost, shutting down, overloaded or too slow. Whether the
   *   query took effect is then unknown.
   */
  run<T>(work: (sql: Sql) => PromiseLike<T>): Promise<T>
  /**
   * As `run`, in a transaction. Deadlocks and serialization failures are tried again. So are locks that another transaction
   * holds, for as long as a statement may take in all (docs/adr/0014-locks-are-not-waited-for-long.md). Transactions use half
   * of the pool at most, so `work` may call `run`, but not `transaction`.
   */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
}

export function openDatabase(options: DatabaseOptions): Database {
  const statementTimeoutMs = options.statementTimeoutMs ?? DEFAULT_STATEMENT_TIMEOUT_MS
  const poolSize = options.poolSize ?? DEFAULT_POOL_SIZE
  const statements = watchStatements(poolSize)
  const sockets = createSockets()
  const server = parseServer(options.url)
  const pool = postgres(server.url, {
    ...{ socket: sockets.connect }, // which its types do not know
    ssl: server.ssl,
    max: poolSize,
    connect_timeout: CONNECT_TIMEOUT_SECONDS,
    backoff: () => RECONNECT_SECONDS * (0.5 + Math.random() / 2),
    idle_timeout: 0,
    keep_alive: 30,
    onnotice: (notice) => options.logger.debug({ notice: notice.message }, 'notice from postgres'),
    connection: {
      application_name: options.application,
      statement_timeout: statementTimeoutMs,
      idle_in_transaction_session_timeout: statementTimeoutMs * 2,
      ...NOTICE_LOST_CLIENTS,
      ...STABLE_PLANS,
    },
    types: { bigint: BIGINT_AS_NUMBER },
  }) as unknown as Sql
  const sql = statements.watch(pool)
  const asServiceError = serviceErrors(server, options.logger)
  const clientDeadlineMs = statementTimeoutMs + QUERY_GRACE_MS
  const endHalfOpen = (): void => sockets.endSilent(clientDeadlineMs - TIMER_MS)
  const inTurn = createTurns(Math.ceil(poolSize * TRANSACTION_SHARE))
  let underWay = 0
  const onSettled = (): void => {
    underWay -= 1
  }
  const within = <T>(deadlineMs: number, begin: () => PromiseLike<T>): Promise<T> => {
    if (underWay >= MAX_UNDER_WAY) throw new ServiceError('unavailable', { cause: new Error('too much is under way') })
    const work = begin()
    underWay += 1
    return withDeadline(work, deadlineMs, { onLate: endHalfOpen, onSettled })
  }

  const run = async <T>(work: (sql: Sql) => PromiseLike<T>): Promise<T> => {
    try {
      return await within(clientDeadlineMs, () => work(sql))
    } catch (error) {
      throw asServiceError(error)
    }
  }

  return {
    sql,
    run,
    async transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
      const giveUpMs = performance.now() + statementTimeoutMs
      const begin = (): Promise<T> => {
        if (performance.now() > giveUpMs) throw new ServiceError('unavailable', { cause: new Error(TOO_MANY) })
        return pool.begin((tx) => {
          // Goes out with the first statement of `work`, which fails if this fails.
          void tx.unsafe(`set local lock_timeout = ${LOCK_TURN_MS}`).execute()
          return work(statements.watch(tx))
        }) as Promise<T>
      }
      for (let attempt = 1; ; ) {
        try {
          return await within(clientDeadlineMs * 2, () => inTurn(begin))
        } catch (error) {
          if (isLockTimeout(error) && performance.now() < giveUpMs) continue
          if (attempt >= MAX_ATTEMPTS || !RETRIED.has(sqlStateOf(error))) throw asServiceError(error)
          attempt += 1
        }
      }
    },
    async [Symbol.asyncDispose]() {
      await pool.end({ timeout: CLOSE_TIMEOUT_SECONDS })
      sockets[Symbol.dispose]()
      statements[Symbol.dispose]()
    },
  }
}

/** Runs `work` again after a deadlock or a serialization failure (40P01, 40001): such a transaction left nothing behind. */
export async function retryOnConflict<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      if (attempt >= MAX_ATTEMPTS || !RETRIED.has(sqlStateOf(unwrap(error)))) throw error
    }
  }
}

/** Whether a statement gave up because it did not get a lock within its `lock_timeout`. It left nothing behind. */
export function isLockTimeout(error: unknown): boolean {
  return sqlStateOf(unwrap(error)) === LOCK_NOT_AVAILABLE
}

const TOO_MANY = 'other transactions kept their connections for too long'
const MAX_ATTEMPTS = 5
const RETRIED = new Set(['40P01', '40001'])

/**
 * Cursors and counts are bigint in SQL and stay far below 2^53.
 * @throws RangeError where one does not, rather than to round it.
 */
const BIGINT_AS_NUMBER = {
  to: 20,
  from: [20],
  serialize: (value: number | bigint): string => String(value),
  parse: (text: string): number => {
    const value = Number(text)
    if (!Number.isSafeInteger(value)) throw new RangeError('a bigint beyond 2^53')
    return value
  },
}

/** Classes of SQLSTATE that mean: the database is not there now. 08 connection, 53 resources, 57 operator intervention, 58 system. */
const UNAVAILABLE_CLASSES = new Set(['08', '53', '57', '58'])
const LOCK_NOT_AVAILABLE = '55P03'
const UNAVAILABLE_CODES = new Set([
  '25006', // a replica, after a failover
  LOCK_NOT_AVAILABLE,
  'CONNECTION_CLOSED',
  'CONNECTION_DESTROYED',
  'CONNECTION_ENDED',
  'CONNECT_TIMEOUT',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ENOENT',
  'ETIMEDOUT',
  'QUERY_TIMEOUT',
])

/** @returns what an error of the driver is to a caller. A failure of TLS is also logged, once: no retry mends it. */
function serviceErrors({ asTlsError }: PostgresServer, logger: Logger): (error: unknown) => unknown {
  const logProblem = sayOnce((problem) => logger.error(problem))
  return (error) => {
    const cause = asTlsError(error)
    if (cause instanceof TlsError) {
      logProblem(cause.message)
      return new ServiceError('unavailable', { cause })
    }
    const code = sqlStateOf(error)
    const lost =
      endsConnection(error) ||
      isStorageError(error) ||
      UNAVAILABLE_CODES.has(code) ||
      (code.length === 5 && UNAVAILABLE_CLASSES.has(code.slice(0, 2)))
    return lost || RETRIED.has(code) ? new ServiceError('unavailable', { cause: error }) : error
  }
}

/** Whatever its SQLSTATE: a database that takes no connections has 55000, one that was renamed 3D000, a wrong password 28P01. */
function endsConnection(error: unknown): boolean {
  const severity = error instanceof postgres.PostgresError ? error.severity : undefined
  return severity === 'FATAL' || severity === 'PANIC'
}

/** A file that cannot grow or be read, for a reason that Postgres has no code for: it says XX000, and the source file that says so. */
function isStorageError(error: unknown): boolean {
  return error instanceof postgres.PostgresError && error.code === 'XX000' && error.file === 'md.c'
}

function unwrap(error: unknown): unknown {
  return error instanceof ServiceError ? error.cause : error
}

export function sqlStateOf(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : ''
}

interface Deadline {
  /** Called when it passes, before the error is thrown. */
  onLate: () => void
  /** Called when the work has ended, which may be long after. */
  onSettled: () => void
}

function withDeadline<T>(work: PromiseLike<T>, deadlineMs: number, { onLate, onSettled }: Deadline): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = setTimeout(() => {
      onLate()
      const error = Object.assign(new Error(`no answer from postgres in ${deadlineMs} ms`), { code: 'QUERY_TIMEOUT' })
      // Behind the end of what `onLate` has ended, so that what is asked next is not asked there.
      setTimeout(reject, 1, error)
    }, deadlineMs)
    work.then(
      (value) => {
        clearTimeout(timer)
        onSettled()
        resolve(value)
      },
      (error: unknown) => {
        clearTimeout(timer)
        onSettled()
        reject(error)
      },
    )
  })
}
