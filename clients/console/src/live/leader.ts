/** The tab that holds the stream. It reads until `signal` is aborted. */
import type { AgentClient } from '@svc/sdk/client.ts'
import { ApiError, EventGapError } from '@svc/sdk/errors.ts'
import type { Reader } from './reader.ts'

/**
 * - `catching_up`: events that arrived meanwhile are being read.
 * - `live`: events appear as they arrive.
 * - `polling`: the agent has two streams elsewhere (`stream_limit`). This tab retries every few seconds, and reads a page each time.
 * - `offline`: the service cannot be reached. Retried with backoff, and at once when the browser is online again.
 * - `stopped`: a retry cannot help. `failure` says why, for example `signer_revoked`.
 */
export type LiveState = 'catching_up' | 'live' | 'polling' | 'offline' | 'stopped'

interface LeaderOptions {
  readonly client: Pick<AgentClient, 'stream'>
  readonly reader: Reader
  readonly signal: AbortSignal
  readonly onState: (state: LiveState) => void
}

/** The service is silent for at most 15 s. A longer silence is a connection that died without notice. */
const SILENCE_MS = 25_000
/** The pause before the stream is opened again, after a failure that the client's own retries did not overcome. */
const REOPEN_MS = 5_000
/** The service has no room for a stream now, but events can still be read by pages. */
const NO_STREAM: readonly string[] = ['stream_limit', 'stream_capacity']
const TOO_MANY = 429
const SERVER_FAULT = 500

/** @throws ApiError if a retry cannot help. Returns when `signal` is aborted. */
export async function lead({ client, reader, signal, onState }: LeaderOptions): Promise<void> {
  onState('catching_up')
  while (!signal.aborted) {
    // Ends one attempt if the browser goes offline or online, so that neither is noticed late.
    using attempt = startAttempt(signal)
    try {
      await readStream(attempt.signal)
    } catch (failure) {
      if (signal.aborted) return
      if (failure instanceof EventGapError) {
        reader.skipTo(failure.earliest - 1)
        continue
      }
      if (isFinal(failure)) throw failure
      if (attempt.signal.aborted && navigator.onLine) continue
      noteFailure(failure)
      await waitForNext(signal)
    }
  }

  async function readStream(attempt: AbortSignal): Promise<void> {
    let end = 0
    const stream = client.stream({
      after: reader.cursor,
      signal: attempt,
      silenceMs: SILENCE_MS,
      onOpen: ({ latest = 0 }) => {
        end = latest
        onState(reader.cursor >= end ? 'live' : 'catching_up')
      },
      // The service sends it after the history, and after each silence.
      onCursor: (cursor) => {
        reader.skipTo(cursor)
        onState('live')
      },
      onRetry: noteFailure,
    })
    for await (const event of stream) {
      reader.take(event)
      if (event.cursor >= end) onState('live')
    }
  }

  /** The state stays until a stream opens, so that it does not change with each attempt. */
  function noteFailure(failure: unknown): void {
    const isPolling = failure instanceof ApiError && NO_STREAM.includes(failure.code)
    onState(isPolling ? 'polling' : 'offline')
    if (isPolling) reader.catchUp().catch(() => {}) // The next attempt reads again.
  }
}

/** Whether the service has refused for good: the key is revoked or unknown, or the request is wrong. */
function isFinal(failure: unknown): boolean {
  return failure instanceof ApiError && failure.status !== TOO_MANY && failure.status < SERVER_FAULT
}

async function waitForNext(signal: AbortSignal): Promise<void> {
  const over = Promise.withResolvers<void>()
  const timer = setTimeout(over.resolve, REOPEN_MS)
  signal.addEventListener('abort', () => over.resolve(), { once: true })
  addEventListener('online', () => over.resolve(), { once: true })
  await over.promise
  clearTimeout(timer)
}

function startAttempt(signal: AbortSignal): Disposable & { readonly signal: AbortSignal } {
  const attempt = new AbortController()
  const end = (): void => attempt.abort(new Error('the network has changed'))
  addEventListener('online', end)
  addEventListener('offline', end)
  return {
    signal: AbortSignal.any([signal, attempt.signal]),
    [Symbol.dispose]() {
      removeEventListener('online', end)
      removeEventListener('offline', end)
    },
  }
}
