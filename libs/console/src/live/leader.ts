/** The tab that holds the stream. It reads until `signal` is aborted. */
import { type AgentClient, ApiError, EventGapError } from '@svc/sdk'
import type { Reader } from './reader.ts'

/**
 * - `catching_up`: events that arrived meanwhile are being read.
 * - `live`: events appear as they arrive.
 * - `polling`: the agent has two streams elsewhere (`stream_limit`), so events are asked for every few seconds.
 * - `offline`: the service cannot be reached. Retried with backoff, and at once when the browser is online again.
 * - `stopped`: a retry cannot help. `failure` says why, for example `signer_revoked`.
 */
export type LiveState = 'catching_up' | 'live' | 'polling' | 'offline' | 'stopped'

interface LeaderOptions {
  readonly client: Pick<AgentClient, 'stream'>
  readonly reader: Reader
  readonly signal: AbortSignal
  readonly onState: (state: LiveState) => void
  /** Shorter waits, for tests. */
  readonly waits?: Partial<typeof WAITS>
}

const WAITS = {
  /** Between two polls. */
  pollMs: 3_000,
  /** Before the stream is opened again after a failure that its own retries did not overcome. */
  reopenMs: 5_000,
}
/** The service has no room for a stream now. The events can be read all the same. */
const NO_STREAM: readonly string[] = ['stream_limit', 'stream_capacity']
const TOO_MANY = 429
const SERVER_FAULT = 500

/** @throws ApiError if a retry cannot help. Returns when `signal` is aborted. */
export async function lead(options: LeaderOptions): Promise<void> {
  const { reader, signal, onState } = options
  const waits = { ...WAITS, ...options.waits }
  while (!signal.aborted) {
    // Ends one attempt if the browser goes offline or online, so that neither is noticed late.
    using attempt = startAttempt(signal)
    try {
      await readStream(options, attempt.signal, waits.pollMs)
    } catch (failure) {
      if (signal.aborted) return
      if (failure instanceof EventGapError) {
        reader.skipGap(failure.earliest)
        continue
      }
      if (isFinal(failure)) throw failure
      if (attempt.signal.aborted && navigator.onLine) continue
      onState(stateAfter(failure))
      await waitForNext(signal, waits, stateAfter(failure) === 'polling' ? reader : undefined)
    }
  }
}

async function readStream(
  { client, reader, onState }: LeaderOptions,
  signal: AbortSignal,
  pollMs: number,
): Promise<void> {
  let end = 0
  let poll: ReturnType<typeof setInterval> | undefined
  const stopPolling = (): void => clearInterval(poll)
  onState('catching_up')
  try {
    const stream = client.stream({
      after: reader.cursor,
      signal,
      onOpen: ({ latest = 0 }) => {
        stopPolling()
        end = latest
        onState(reader.cursor >= end ? 'live' : 'catching_up')
      },
      // The service sends it after the history, and after each silence.
      onCursor: (cursor) => {
        reader.skipTo(cursor)
        onState('live')
      },
      onRetry: (failure) => {
        const state = stateAfter(failure)
        onState(state)
        stopPolling()
        if (state === 'polling') poll = setInterval(() => void reader.catchUp().catch(() => {}), pollMs)
      },
    })
    for await (const event of stream) {
      reader.take(event)
      if (event.cursor >= end) onState('live')
    }
  } finally {
    stopPolling()
  }
}

function stateAfter(failure: unknown): LiveState {
  return failure instanceof ApiError && NO_STREAM.includes(failure.code) ? 'polling' : 'offline'
}

/** Whether the service has refused for good: the key is revoked or unknown, or the request is wrong. */
function isFinal(failure: unknown): boolean {
  return failure instanceof ApiError && failure.status !== TOO_MANY && failure.status < SERVER_FAULT
}

/** @param reader polled meanwhile, if given. */
async function waitForNext(signal: AbortSignal, waits: typeof WAITS, reader: Reader | undefined): Promise<void> {
  if (reader !== undefined) await reader.catchUp().catch(() => {})
  const over = Promise.withResolvers<void>()
  const timer = setTimeout(over.resolve, waits.reopenMs)
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
