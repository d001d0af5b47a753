import type { Event } from '@svc/contracts/resources.ts'
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { AnswerError, EventGapError, isCode, NetworkError } from '../errors.ts'
import { parseAnswer } from '../http/answer-json.ts'
import { event as eventShape } from '../http/answers.ts'
import type { CallOptions } from '../http/options.ts'
import { delayBeforeRetry } from '../http/retry.ts'
import type { createStreamOpener, TransportOptions } from '../http/transport.ts'
import { linkAbort } from '../http/waiting.ts'
import { endsOf, type LogEnds } from './event-listing.ts'

export interface StreamOptions extends CallOptions {
  /**
   * Cursor of the last event that you processed. Default 0: from the oldest event that is kept. `end` yields only
   * events that arrive from now on. It calls `AgentClient.latestCursor` first.
   */
  readonly after?: number | 'end' | undefined
  /**
   * Called when every event up to this cursor was yielded or is not visible to this agent: after the history was
   * replayed, and after each silence. You may store this cursor like the cursor of an event.
   */
  readonly onCursor?: ((cursor: number) => void) | undefined
  /** Called when a connection opens, with the first and last cursor of the log at that moment. */
  readonly onOpen?: ((ends: LogEnds) => void) | undefined
  /** Called before the wait for a reconnect, with the failure that caused it. */
  readonly onRetry?: ((failure: unknown, delayMs: number) => void) | undefined
  /** Called when an open connection has ended, with the failure if it broke. The service ends each one at some time. */
  readonly onDisconnect?: ((failure: unknown) => void) | undefined
  /** Called when a connection opens after an earlier one has ended. */
  readonly onReconnect?: (() => void) | undefined
  /** A connection that is silent for this long counts as dead. Default 60,000. The service is silent for at most 15 s. */
  readonly silenceMs?: number | undefined
}

interface StreamDeps extends Pick<TransportOptions, 'clock' | 'retry' | 'nowMs' | 'sleep' | 'random'> {
  readonly open: ReturnType<typeof createStreamOpener>
  readonly latestCursor: (options: CallOptions) => Promise<number>
}

const PATH = '/v2/stream'
const ACCEPT = 'text/event-stream'
const DEFAULT_SILENCE_MS = 60_000
/** The most characters of an unfinished event, several times the longest event, so that a hostile server cannot fill the memory. */
const MAX_UNFINISHED_CHARACTERS = 1024 * 1024
/** If a connection ends sooner than this, the next attempt waits. A longer connection ended normally. */
const SHORT_MS = 1_000
/** A stream that was once connected retries for ever. Before that, it fails like any call. */
const FOR_EVER = { attempts: Number.POSITIVE_INFINITY, maxRetryAfterSeconds: Number.POSITIVE_INFINITY }
/** Asks again after an hour, however long `Retry-After` is. A timer of more than 25 days would end at once. */
const MAX_WAIT_MS = 3_600_000
/** The most corrections of the clock in a row. One correction is enough, unless somebody sets a clock meanwhile. */
const MAX_CORRECTIONS = 2

/** One stream over any number of connections. See `AgentClient.stream`. */
export async function* readEventStream(
  deps: StreamDeps,
  options: StreamOptions,
): AsyncGenerator<Event, never, undefined> {
  const { signal, after = 0 } = options
  let cursor = after === 'end' ? await deps.latestCursor({ signal }) : after
  if (!Number.isSafeInteger(cursor) || cursor < 0)
    throw new TypeError("after must be the cursor of an event, 0 or 'end'")
  // `after: 0` requests whatever is kept, so a stream from 0 has no gap before its first frame.
  let isResuming = cursor > 0
  let hasConnected = false
  let isConnected = false
  let failures = 0
  let corrections = 0
  for (;;) {
    signal?.throwIfAborted()
    const { revision } = deps.clock
    const openedMs = deps.nowMs()
    const connection = new AbortController()
    const unlink = linkAbort(signal, () => connection.abort(signal?.reason))
    let failure: unknown
    try {
      const response = await deps.open(
        { path: PATH, query: { after: cursor === 0 ? undefined : cursor }, accept: ACCEPT },
        connection,
      )
      const ends = endsOf(response.headers)
      const { earliest } = ends
      if (isResuming && earliest !== undefined && earliest > cursor + 1) throw new EventGapError(cursor, earliest)
      if (hasConnected) options.onReconnect?.()
      hasConnected = true
      isConnected = true
      options.onOpen?.(ends)
      corrections = 0
      for await (const frame of readFrames(response, connection, options.silenceMs ?? DEFAULT_SILENCE_MS)) {
        isResuming = true
        failures = 0
        if (frame.kind === 'cursor') {
          cursor = Math.max(cursor, frame.cursor)
          options.onCursor?.(cursor)
        } else if (frame.event.cursor > cursor) {
          cursor = frame.event.cursor
          yield frame.event
        }
      }
      isConnected = false
      options.onDisconnect?.(undefined)
      // Servers end every stream at some time, so this is not a failure.
      if (deps.nowMs() - openedMs > SHORT_MS) continue
      failure = new NetworkError('the stream ended right after it began')
    } catch (thrown) {
      signal?.throwIfAborted()
      if (isConnected) options.onDisconnect?.(thrown)
      isConnected = false
      failure = thrown
    } finally {
      // Also runs if the reader has left the loop.
      connection.abort()
      unlink()
    }
    const isMistimed = isCode(failure, 'timestamp_out_of_range') && deps.clock.revision !== revision
    if (isMistimed && corrections < MAX_CORRECTIONS) {
      corrections += 1
      continue
    }
    failures += 1
    const policy = hasConnected ? { ...deps.retry, ...FOR_EVER } : deps.retry
    const askedMs = delayBeforeRetry(failure, failures, policy, deps.random)
    if (askedMs === undefined) throw failure
    const delayMs = Math.min(askedMs, MAX_WAIT_MS)
    options.onRetry?.(failure, delayMs)
    await deps.sleep(delayMs, signal)
  }
}

type Frame = { readonly kind: 'event'; readonly event: Event } | { readonly kind: 'cursor'; readonly cursor: number }

/** @throws NetworkError if the connection broke or fell silent, AnswerError if it is not a stream of this API. */
async function* readFrames(
  response: Response,
  connection: AbortController,
  silenceMs: number,
): AsyncGenerator<Frame, void, undefined> {
  const frames: Frame[] = []
  const parser = createParser({ onEvent: (message) => frames.push(...frameOf(message)) })
  const decoder = new TextDecoder()
  const reader = response.body?.getReader()
  if (reader === undefined) throw new AnswerError('the stream has no body', { status: response.status })
  const silent = (): void => connection.abort(new NetworkError(`the stream was silent for ${silenceMs} ms`))
  let timer = setTimeout(silent, silenceMs)
  let unfinished = 0
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        throw cause instanceof NetworkError ? cause : new NetworkError('the stream broke', { cause })
      })
      if (done) return
      clearTimeout(timer)
      const text = decoder.decode(value, { stream: true })
      parser.feed(text)
      unfinished = frames.length > 0 ? 0 : unfinished + text.length
      if (unfinished > MAX_UNFINISHED_CHARACTERS)
        throw new AnswerError(`an event of the stream is longer than ${MAX_UNFINISHED_CHARACTERS} characters`)
      // The timer is off while the reader processes events, because a slow reader is not a silent connection.
      yield* frames.splice(0)
      timer = setTimeout(silent, silenceMs)
    }
  } finally {
    clearTimeout(timer)
  }
}

/** Ignores other event names, which a newer service may send. */
function frameOf({ event, data }: EventSourceMessage): Frame[] {
  if (event === 'message') return [{ kind: 'event', event: eventShape(parseAnswer(data), 'an event') }]
  if (event !== 'cursor') return []
  const value = parseAnswer(data) as { cursor?: unknown } | null | undefined
  if (!Number.isSafeInteger(value?.cursor)) throw new AnswerError('a cursor of the stream is not an integer')
  return [{ kind: 'cursor', cursor: value?.cursor as number }]
}
