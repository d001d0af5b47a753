import { FairQueue } from '@svc/batching/fair-queue.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import postgres from 'postgres'
import { type Pool, Pools } from './connection/pools.ts'
import { driverOptions, greetingOf, type PostgresServer, parseServer } from './connection/server.ts'
import { SESSION_SETTINGS, STATEMENT_TIMEOUT_MS, timeouts } from './connection/session.ts'
import { createSockets } from './connection/sockets.ts'
import { watchStatements } from './connection/statements.ts'
import { isConflict, isLockTimeout, MAX_ATTEMPTS, serviceErrors } from './errors.ts'

export type Sql = postgres.Sql
/** A connection inside a transaction. */
export type Tx = postgres.TransactionSql

export interface DatabaseOptions {
  /** `postgres://user:password@host:port/database?sslmode=…` (libs/config, database-url.ts). */
  url: string
  /** The file that the URL came from. The process moves to a changed user and password while it runs. */
  urlFile?: string | undefined
  /** Shown in pg_stat_activity. */
  application: string
  logger: Logger
  /** Maximum number of connections. Pool size × processes must stay under the server's max_connections. */
  poolSize?: number
  /** The server cancels a statement after this time. The client waits `QUERY_GRACE_MS` longer. */
  statementTimeoutMs?: number
}

const DEFAULT_POOL_SIZE = 8
/**
 * The share of the connections that transactions with several round trips may use. Many of them may wait for one locked row, so
 * the other half is kept free for single statements.
 */
const TRANSACTION_SHARE = 1 / 2
/** A transaction waits this long for each lock. Then it gives its connection to the next transaction, and starts over after it. */
const LOCK_TURN_MS = 250
/**
 * The client's deadline is later than the server's, so that the server's clearer error comes first. It passes only if the server
 * sends nothing. So a connection that was silent for this long is half open, and is closed.
 */
const QUERY_GRACE_MS = 500
/** A timer may fire this much early, as measured by another clock. */
const TIMER_MS = 10
/**
 * Maximum number of unfinished calls of a pool; past it a call is `unavailable` at once. Calls whose caller has given up count
 * too, because the driver keeps them for as long as the database is down.
 */
export const MAX_UNDER_WAY = 1_000
const CONNECT_TIMEOUT_SECONDS = 3
/**
 * The longest pause between attempts to connect. The driver's own backoff grows to 20 s and is shared by the pool. With it every
 * query would time out while the database is down, and the pool would stay down for up to 20 s after the database is back.
 */
const RECONNECT_SECONDS = 0.5

export interface Database extends AsyncDisposable {
  readonly sql: Sql
  /**
   * Runs one query, or a function with several, under a deadline of the client. The driver has no deadline, so a query on a
   * connection that died while it was being opened would wait for ever (ADR 22).
   * @throws ServiceError `unavailable` if the database is lost, shutting down, overloaded or too slow. It is then unknown if the
   *   query took effect.
   */
  run<T>(work: (sql: Sql) => PromiseLike<T>): Promise<T>
  /**
   * Like `run`, in a transaction. Retries after a deadlock or a serialization failure. Also retries after a lock timeout, for as
   * long as a statement may take in all (docs/adr/0014-locks-are-not-waited-for-long.md). Transactions use at most half of the
   * pool, so `work` may call `run`, but not `transaction`.
   * @param lock names the row that `work` locks first, if many requests may lock it. One transaction of a process runs for each,
   *   and locks take turns, so a flood for one row cannot hold up transactions for others.
   */
  transaction<T>(work: (tx: Tx) => Promise<T>, lock?: string): Promise<T>
}

export function openDatabase(options: DatabaseOptions): Database {
  const statementTimeoutMs = options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS
  const poolSize = options.poolSize ?? DEFAULT_POOL_SIZE
  const statements = watchStatements(poolSize)
  const sockets = createSockets()
  const server = parseServer(options.url)
  for (const reason of server.ignored) options.logger.info(`SVC_DATABASE_URL: ${reason}`)
  const pools = new Pools({
    url: options.url,
    urlFile: options.urlFile,
    open: (of) => statements.watch(openPool(options, { server: of, sockets, poolSize, statementTimeoutMs })),
    logger: options.logger,
  })
  const asServiceError = serviceErrors(server, options.logger)
  const clientDeadlineMs = statementTimeoutMs + QUERY_GRACE_MS
  const endHalfOpen = (): void => sockets.endSilent(clientDeadlineMs - TIMER_MS)
  // More than one transaction for a row would only wait for its lock, and take connections that others need.
  const transactions = new FairQueue({ atOnce: Math.ceil(poolSize * TRANSACTION_SHARE), oneOfKey: true })
  let underWay = 0
  const within = <T>(deadlineMs: number, begin: (pool: Pool) => PromiseLike<T>): Promise<T> => {
    if (underWay >= MAX_UNDER_WAY)
      throw new ServiceError('unavailable', { cause: new Error('too many queries are under way') })
    const pool = pools.present
    const work = begin(pool)
    underWay += 1
    const leave = pools.enter(pool)
    const onSettled = (): void => {
      underWay -= 1
      leave()
    }
    return withDeadline(work, deadlineMs, { onLate: endHalfOpen, onSettled })
  }

  const run = async <T>(work: (sql: Sql) => PromiseLike<T>): Promise<T> => {
    try {
      return await within(clientDeadlineMs, ({ sql }) => work(sql))
    } catch (error) {
      throw asServiceError(error)
    }
  }

  return {
    get sql() {
      return pools.present.sql
    },
    run,
    async transaction<T>(work: (tx: Tx) => Promise<T>, lock?: string): Promise<T> {
      const turn = { key: lock ?? Symbol('no lock') }
      const giveUpMs = performance.now() + statementTimeoutMs
      const begin = ({ sql }: Pool): Promise<T> => {
        if (performance.now() > giveUpMs) throw new ServiceError('unavailable', { cause: new Error(TOO_MANY) })
        return sql.begin((tx) => {
          // Sent together with the first statement of `work`, which fails if this fails.
          void tx.unsafe(`set local lock_timeout = ${LOCK_TURN_MS}`).execute()
          return work(statements.watch(tx))
        }) as Promise<T>
      }
      for (let attempt = 1; ; ) {
        try {
          return await within(clientDeadlineMs * 2, (pool) => transactions.runInTurn(turn, () => begin(pool)))
        } catch (error) {
          if (isLockTimeout(error) && performance.now() < giveUpMs) continue
          if (attempt >= MAX_ATTEMPTS || !isConflict(error)) throw asServiceError(error)
          attempt += 1
        }
      }
    },
    async [Symbol.asyncDispose]() {
      await pools[Symbol.asyncDispose]()
      sockets[Symbol.dispose]()
      statements[Symbol.dispose]()
    },
  }
}

/** The driver's pool, without the deadlines and the errors of `Database`. */
function openPool(
  { application, logger }: DatabaseOptions,
  {
    server,
    sockets,
    poolSize,
    statementTimeoutMs,
  }: {
    server: PostgresServer
    sockets: ReturnType<typeof createSockets>
    poolSize: number
    statementTimeoutMs: number
  },
): Sql {
  return postgres({
    ...{ socket: sockets.connect }, // missing in the driver's types
    ...driverOptions(server),
    // A pooler may send the next use of a prepared statement to a session that does not know it.
    prepare: !server.isPooled,
    max: poolSize,
    connect_timeout: CONNECT_TIMEOUT_SECONDS,
    backoff: () => RECONNECT_SECONDS * (0.5 + Math.random() / 2),
    idle_timeout: 0,
    keep_alive: 30,
    onnotice: (notice) => logger.debug({ notice: notice.message }, 'notice from postgres'),
    connection: {
      ...greetingOf(server, application),
      // A pooler refuses these settings, and `prepareRoles` has given them to the role.
      ...(server.isPooled ? {} : { ...SESSION_SETTINGS, ...timeouts(statementTimeoutMs) }),
    },
    types: { bigint: BIGINT_AS_NUMBER },
  }) as unknown as Sql
}

const TOO_MANY = 'other transactions kept their connections for too long'

/**
 * Cursors and counts are bigint in SQL and stay far below 2^53.
 * @throws RangeError for a larger value, which would be rounded.
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

interface Deadline {
  /** Called when the deadline passes, before the error is thrown. */
  onLate: () => void
  /** Called when the work has ended, which may be long after the deadline. */
  onSettled: () => void
}

function withDeadline<T>(work: PromiseLike<T>, deadlineMs: number, { onLate, onSettled }: Deadline): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = setTimeout(() => {
      onLate()
      const error = Object.assign(new Error(`no answer from postgres in ${deadlineMs} ms`), { code: 'QUERY_TIMEOUT' })
      // Reject one tick later, after the connection that `onLate` closes is gone. Otherwise the caller's next query could be
      // sent on it.
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
