import { join } from 'node:path'
import type { AgentClient } from '@svc/sdk/client.ts'
import { ApiError, EventGapError } from '@svc/sdk/errors.ts'
import { writeDurably } from '@svc/sdk/store/durable-file.ts'
import type { Log } from '../log.ts'
import { codeOf } from '../output/explain-error.ts'
import { readIfThere } from '../store/files.ts'
import { createLease } from './lease.ts'

/**
 * Wakes calls that wait for mail. One process of a state folder holds a stream, and notifies the others through a file. If
 * the service refuses the stream (`stream_limit`), the process polls. The stream only signals that something has arrived.
 */
export interface Watcher extends AsyncDisposable {
  /** Rises when something may have arrived. Read it before you check for mail, and pass it to `changed`. */
  readonly version: number
  /** Resolves when the version differs from `seen`, or after `ms`. Rejects with the signal's reason. */
  changed(seen: number, ms: number, signal: AbortSignal): Promise<void>
  /** Calls `onChange` at every change until the result is disposed. For clients that subscribe to resources. */
  listen(onChange: () => void): Disposable
  /** How the process currently learns of mail. For `whoami` and tests. */
  readonly mode: 'idle' | 'stream' | 'poll' | 'shared'
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

export function createWatcher(
  { client, folder, log }: { client: AgentClient; folder: string; log: Log },
  times: WatcherTimes = TIMES,
): Watcher {
  const lease = createLease(join(folder, 'stream.lease'))
  const newsPath = join(folder, 'news')
  const stopped = new AbortController()
  const listeners = new Set<() => void>()
  let version = 0
  let mode: Watcher['mode'] = 'idle'
  let seenNews = newsOf(newsPath)
  let lastUsedMs = 0
  let running: Promise<void> | undefined

  const isWanted = (): boolean => listeners.size > 0 || Date.now() - lastUsedMs < times.lingerMs

  function change(): void {
    version += 1
    for (const listener of [...listeners]) listener()
  }

  function start(): void {
    lastUsedMs = Date.now()
    running ??= run().finally(() => {
      running = undefined
      mode = 'idle'
    })
  }

  async function run(): Promise<void> {
    while (isWanted() && !stopped.signal.aborted) {
      try {
        if (!lease.take()) {
          mode = 'shared'
          await pause(times.lookMs)
          lookAtNews()
          continue
        }
        await lead()
      } catch (error) {
        log('watch.failed', { error: error instanceof Error ? error.name : 'unknown' })
        await pause(times.pollMs)
      } finally {
        lease.release()
      }
    }
  }

  function lookAtNews(): void {
    const news = newsOf(newsPath)
    if (news === seenNews) return
    seenNews = news
    change()
  }

  /** Notifies this process and the others. */
  function tell(cursor: number): void {
    seenNews = String(cursor)
    writeDurably(newsPath, seenNews, { isFlushed: false })
    change()
  }

  /** Streams or polls while this process holds the lease and a call waits. */
  async function lead(): Promise<void> {
    const ended = new AbortController()
    const renewal = setInterval(() => {
      if (!isWanted() || stopped.signal.aborted || !lease.renew()) ended.abort()
    }, times.renewMs)
    const stop = (): void => ended.abort()
    stopped.signal.addEventListener('abort', stop)
    try {
      let cursor = await client.latestCursor({ signal: ended.signal })
      // Mail may have arrived between the check of a waiting call and this moment.
      tell(cursor)
      while (!ended.signal.aborted) {
        cursor = await stream(cursor, ended.signal)
        if (ended.signal.aborted) return
        cursor = await poll(cursor, ended.signal)
      }
    } catch (error) {
      if (!ended.signal.aborted) throw error
    } finally {
      clearInterval(renewal)
      stopped.signal.removeEventListener('abort', stop)
    }
  }

  /** Streams until the stream ends or the service refuses it. @returns the cursor to continue after. */
  async function stream(start: number, signal: AbortSignal): Promise<number> {
    mode = 'stream'
    let cursor = start
    const refused = new AbortController()
    // Do not wait for a free stream, because mail may arrive meanwhile. Poll instead.
    const onRetry = (failure: unknown): void => {
      if (failure instanceof ApiError && failure.status === 429) refused.abort(failure)
    }
    try {
      const ended = AbortSignal.any([signal, refused.signal])
      for await (const event of client.stream({ after: cursor, signal: ended, onRetry })) {
        cursor = event.cursor
        tell(cursor)
      }
    } catch (error) {
      if (signal.aborted) return cursor
      log('watch.no_stream', { code: error instanceof ApiError ? codeOf(error) : (error as Error).name })
      if (error instanceof EventGapError) cursor = error.earliest - 1
    }
    return cursor
  }

  async function poll(start: number, signal: AbortSignal): Promise<number> {
    mode = 'poll'
    let cursor = start
    for (let polls = 0; polls < POLLS_BEFORE_STREAM && !signal.aborted; polls += 1) {
      const latest = await client.latestCursor({ signal })
      if (latest > cursor) {
        cursor = latest
        tell(cursor)
      }
      await pause(times.pollMs)
    }
    return cursor
  }

  async function pause(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(done, ms)
      stopped.signal.addEventListener('abort', done)
      function done(): void {
        clearTimeout(timer)
        stopped.signal.removeEventListener('abort', done)
        resolve()
      }
    })
  }

  return {
    get version() {
      return version
    },
    get mode() {
      return mode
    },
    async changed(seen, ms, signal) {
      signal.throwIfAborted()
      start()
      try {
        await new Promise<void>((resolve, reject) => {
          const timer = setTimeout(finish, ms)
          listeners.add(look)
          signal.addEventListener('abort', fail)
          look()
          function look(): void {
            if (version !== seen) finish()
          }
          function finish(): void {
            forget()
            resolve()
          }
          function fail(): void {
            forget()
            reject(signal.reason)
          }
          function forget(): void {
            clearTimeout(timer)
            listeners.delete(look)
            signal.removeEventListener('abort', fail)
          }
        })
      } finally {
        lastUsedMs = Date.now()
      }
    },
    listen(onChange) {
      listeners.add(onChange)
      start()
      return {
        [Symbol.dispose]: () => {
          listeners.delete(onChange)
          lastUsedMs = Date.now()
        },
      }
    },
    async [Symbol.asyncDispose]() {
      stopped.abort()
      await running
    },
  }
}

function newsOf(path: string): string {
  return readIfThere(path)?.toString('utf8') ?? ''
}
