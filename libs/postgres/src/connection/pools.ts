import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { followLogin, renewed } from '@svc/config/follow-login.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { sayOnce } from '@svc/telemetry/problem-log.ts'
import type { Sql } from 'postgres'
import { type PostgresServer, parseServer } from './server.ts'

/** The connections of one login. */
export interface Pool {
  readonly server: PostgresServer
  readonly sql: Sql
}

interface PoolsOptions {
  readonly url: string
  /** The file that the URL came from. If its login changes, the process moves to the new login. */
  readonly urlFile: string | undefined
  readonly open: (server: PostgresServer) => Sql
  readonly logger: Logger
}

/** The client's deadline for the first query of a login. The driver has none (ADR 22). */
const TRIAL_MS = 5_000
const CLOSE_TIMEOUT_SECONDS = 5

/**
 * The pool of the present login, and the pools of earlier logins until their queries have ended. A changed login gets its own pool,
 * and is used once the server has accepted it. Until then the present login is used, also for new connections.
 */
export class Pools implements AsyncDisposable {
  readonly #options: PoolsOptions
  readonly #underWay = new Map<Pool, number>()
  readonly #stop = new AbortController()
  #present: Pool

  constructor(options: PoolsOptions) {
    this.#options = options
    const { url, urlFile, logger } = options
    const first = parseServer(url)
    this.#present = this.#open(first)
    if (urlFile === undefined) return
    const say = sayOnce((problem) => logger.error(problem))
    void followLogin({
      read: renewed(
        () => readUrl(urlFile),
        (text) => (text === url ? first : sameServer(first, text, urlFile)),
        say,
      ),
      accepted: () => this.#present.server,
      move: (server) => this.#move(server, say),
      signal: this.#stop.signal,
    })
  }

  get present(): Pool {
    return this.#present
  }

  /** Keeps a pool open while it is used, even if the login changes. @returns what to call once when the use has ended. */
  enter(pool: Pool): () => void {
    this.#count(pool, 1)
    return () => this.#count(pool, -1)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await Promise.all([...this.#underWay.keys()].map(({ sql }) => sql.end({ timeout: CLOSE_TIMEOUT_SECONDS })))
  }

  #open(server: PostgresServer): Pool {
    const pool = { server, sql: this.#options.open(server) }
    this.#underWay.set(pool, 0)
    return pool
  }

  #count(pool: Pool, change: number): void {
    const underWay = (this.#underWay.get(pool) ?? 0) + change
    if (this.#underWay.has(pool)) this.#underWay.set(pool, underWay)
    if (underWay === 0 && pool !== this.#present) void this.#close(pool)
  }

  async #move(server: PostgresServer, say: (problem: string) => void): Promise<boolean> {
    const next = this.#open(server)
    try {
      await within(TRIAL_MS, next.sql`select 1`)
    } catch (error) {
      const cause = server.asConnectionError(error)
      const reason = cause instanceof Error ? cause.message : String(cause)
      say(`${reason.replace(/\.?$/, '.')} Until then the process uses the login that it used before.`)
      await this.#close(next, 0)
      return false
    }
    const old = this.#present
    this.#present = next
    this.#options.logger.info({ user: server.user }, 'postgres: uses the new login')
    this.#count(old, 0)
    return true
  }

  async #close(pool: Pool, timeout = CLOSE_TIMEOUT_SECONDS): Promise<void> {
    this.#underWay.delete(pool)
    await pool.sql.end({ timeout })
  }
}

/** @throws Error whose message names the variable, if the file cannot be read. */
function readUrl(path: string): string {
  try {
    return readFileSync(path, 'utf8').trimEnd()
  } catch (cause) {
    throw new Error(
      `SVC_DATABASE_URL_FILE is ${path}, which cannot be read (${(cause as NodeJS.ErrnoException).code})`,
      {
        cause,
      },
    )
  }
}

/** @throws Error if the URL is invalid, or has more changes than the login. */
function sameServer(first: PostgresServer, text: string, path: string): PostgresServer {
  const problem = (reason: string, cause?: unknown): Error =>
    new Error(`SVC_DATABASE_URL_FILE is ${path}, whose URL ${reason}`, { cause })
  let server: PostgresServer
  try {
    server = parseServer(text)
  } catch (cause) {
    throw problem((cause as Error).message, cause)
  }
  if (server.place !== first.place)
    throw problem('names another server, database or parameter: only user and password may change without a restart')
  return server
}

async function within<T>(limitMs: number, work: PromiseLike<T>): Promise<T> {
  const limit = new AbortController()
  const late = sleep(limitMs, undefined, { signal: limit.signal, ref: false }).then(() => {
    throw new Error(`no answer from postgres in ${limitMs} ms`)
  })
  late.catch(() => {}) // the work has ended
  try {
    return await Promise.race([work, late])
  } finally {
    limit.abort()
  }
}
