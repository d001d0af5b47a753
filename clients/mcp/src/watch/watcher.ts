import { join } from 'node:path'
import type { AgentClient } from '@svc/sdk/client.ts'
import { ApiError, EventGapError } from '@svc/sdk/errors.ts'
import { sleep, untilAborted } from '@svc/sdk/http/waiting.ts'
import { writeDurably } from '@svc/sdk/store/durable-file.ts'
import type { Log } from '../log.ts'
import { codeOf } from '../output/explain-error.ts'
import { readIfThere } from '../store/files.ts'
import { Lease } from '../store/lease.ts'

interface WatcherDeps {
  readonly client: AgentClient
  readonly folder: string
  readonly log: Log
}

interface WatcherTimes {
  /** Interval between checks of the file of the process that holds the stream. */
  readonly lookMs: number
  /** Interval between requests if there is no stream. */
  readonly pollMs: number
  /** Interval between renewals of the lease. Well below its `STALE_MS`. */
  readonly renewMs: number
  /** The stream stays open for this long after the last waiting call. */
  readonly lingerMs: number
}

const TIMES: WatcherTimes = { lookMs: 250, pollMs: 3_000, renewMs: 2_000, lingerMs: 30_000 }
/** A refused stream is tried again after this many polls. */
const POLLS_BEFORE_STREAM = 10

/**
 * Wakes calls that wait for mail. One process of a state folder holds a stream, and notifies the others through a file. If
 * the service refuses the stream (`stream_limit`), the process polls. The stream only signals that something has arrived.
 */
export class Watcher implements AsyncDisposable {
  readonly #client: AgentClient
  readonly #log: Log
  readonly #times: WatcherTimes
  readonly #lease: Lease
  readonly #newsPath: string
  readonly #stopped = new AbortController()
  readonly #listeners = new Set<() => void>()
  #version = 0
  #mode: 'idle' | 'stream' | 'poll' | 'shared' = 'idle'
  #seenNews: string
  #lastUsedMs = 0
  #running: Promise<void> | undefined

  constructor({ client, folder, log }: WatcherDeps, times: WatcherTimes = TIMES) {
    this.#client = client
    this.#log = log
    this.#times = times
    this.#lease = new Lease(join(folder, 'stream.lease'))
    this.#newsPath = join(folder, 'news')
    this.#seenNews = newsOf(this.#newsPath)
  }

  /** Rises when something may have arrived. Read it before you check for mail, and pass it to `waitForChange`. */
  get version(): number {
    return this.#version
  }

  /** How the process currently learns of mail. For `whoami` and tests. */
  get mode(): 'idle' | 'stream' | 'poll' | 'shared' {
    return this.#mode
  }

  /** Resolves when the version differs from `seen`, or after `ms`. Rejects with the signal's reason. */
  async waitForChange(seen: number, ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    this.#startWatching()
    const { promise, resolve } = Promise.withResolvers<void>()
    const look = (): void => {
      if (this.#version !== seen) resolve()
    }
    const timer = setTimeout(resolve, ms)
    this.#listeners.add(look)
    look()
    try {
      await untilAborted(promise, signal)
    } finally {
      clearTimeout(timer)
      this.#listeners.delete(look)
      this.#lastUsedMs = Date.now()
    }
  }

  /** Calls `onChange` at every change until the result is disposed. For clients that subscribe to resources. */
  onEveryChange(onChange: () => void): Disposable {
    this.#listeners.add(onChange)
    this.#startWatching()
    return {
      [Symbol.dispose]: () => {
        this.#listeners.delete(onChange)
        this.#lastUsedMs = Date.now()
      },
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort()
    await this.#running
  }

  #isWanted(): boolean {
    return this.#listeners.size > 0 || Date.now() - this.#lastUsedMs < this.#times.lingerMs
  }

  #announceChange(): void {
    this.#version += 1
    for (const listener of [...this.#listeners]) listener()
  }

  #startWatching(): void {
    this.#lastUsedMs = Date.now()
    this.#running ??= this.#watchWhileWanted().finally(() => {
      this.#running = undefined
      this.#mode = 'idle'
    })
  }

  async #watchWhileWanted(): Promise<void> {
    while (this.#isWanted() && !this.#stopped.signal.aborted) {
      try {
        if (!this.#lease.take()) {
          this.#mode = 'shared'
          await this.#pause(this.#times.lookMs)
          this.#lookAtNews()
          continue
        }
        await this.#watchAsHolder()
      } catch (error) {
        this.#log('watch.failed', { error: error instanceof Error ? error.name : 'unknown' })
        await this.#pause(this.#times.pollMs)
      } finally {
        this.#lease.release()
      }
    }
  }

  #lookAtNews(): void {
    const news = newsOf(this.#newsPath)
    if (news === this.#seenNews) return
    this.#seenNews = news
    this.#announceChange()
  }

  /** Notifies this process and the others. */
  #tellOthers(cursor: number): void {
    this.#seenNews = String(cursor)
    writeDurably(this.#newsPath, this.#seenNews, { isFlushed: false })
    this.#announceChange()
  }

  /** Streams or polls while this process holds the lease and a call waits. */
  async #watchAsHolder(): Promise<void> {
    const ended = new AbortController()
    const renewal = setInterval(() => {
      if (!this.#isWanted() || this.#stopped.signal.aborted || !this.#lease.renew()) ended.abort()
    }, this.#times.renewMs)
    const stop = (): void => ended.abort()
    this.#stopped.signal.addEventListener('abort', stop)
    try {
      let cursor = await this.#client.latestCursor({ signal: ended.signal })
      // Mail may have arrived between the check of a waiting call and this moment.
      this.#tellOthers(cursor)
      while (!ended.signal.aborted) {
        cursor = await this.#watchStream(cursor, ended.signal)
        if (ended.signal.aborted) return
        cursor = await this.#pollService(cursor, ended.signal)
      }
    } catch (error) {
      if (!ended.signal.aborted) throw error
    } finally {
      clearInterval(renewal)
      this.#stopped.signal.removeEventListener('abort', stop)
    }
  }

  /** Streams until the stream ends or the service refuses it. @returns the cursor to continue after. */
  async #watchStream(start: number, signal: AbortSignal): Promise<number> {
    this.#mode = 'stream'
    let cursor = start
    const refused = new AbortController()
    // Do not wait for a free stream, because mail may arrive meanwhile. Poll instead.
    const onRetry = (failure: unknown): void => {
      if (failure instanceof ApiError && failure.status === 429) refused.abort(failure)
    }
    try {
      const ended = AbortSignal.any([signal, refused.signal])
      for await (const event of this.#client.stream({ after: cursor, signal: ended, onRetry })) {
        cursor = event.cursor
        this.#tellOthers(cursor)
      }
    } catch (error) {
      if (signal.aborted) return cursor
      this.#log('watch.no_stream', { code: error instanceof ApiError ? codeOf(error) : (error as Error).name })
      if (error instanceof EventGapError) cursor = error.earliest - 1
    }
    return cursor
  }

  async #pollService(start: number, signal: AbortSignal): Promise<number> {
    this.#mode = 'poll'
    let cursor = start
    for (let polls = 0; polls < POLLS_BEFORE_STREAM && !signal.aborted; polls += 1) {
      const latest = await this.#client.latestCursor({ signal })
      if (latest > cursor) {
        cursor = latest
        this.#tellOthers(cursor)
      }
      await this.#pause(this.#times.pollMs)
    }
    return cursor
  }

  /** Ends early if the watcher is disposed. */
  async #pause(ms: number): Promise<void> {
    await sleep(ms, this.#stopped.signal).catch(() => undefined)
  }
}

function newsOf(path: string): string {
  return readIfThere(path)?.toString('utf8') ?? ''
}
