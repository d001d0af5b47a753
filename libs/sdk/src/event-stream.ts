import type { Event } from '@svc/contracts/resources.ts'
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { parseAnswer } from './answer-json.ts'
import { event as eventShape } from './answers.ts'
import { AnswerError, ApiError, EventGapError, NetworkError } from './errors.ts'
import { endsOf, type LogEnds } from './event-listing.ts'
import type { CallOptions } from './options.ts'
import { delayBeforeRetry } from './retry.ts'
import type { createStreamOpener, TransportOptions } from './transport.ts'

export interface StreamOptions extends CallOptions {
  /**
   * Cursor of the last event that was dealt with; default 0, from the oldest that is kept. `end` begins with what arrives from
   * now on: it asks for `AgentClient.latestCursor` first.
   */
  readonly after?: number | 'end' | undefined
  /**
   * Called when everything up to this cursor was yielded, or is not this agent's to see: when history has been replayed, and
   * after each silence. A cursor to keep, as that of an event is.
   */
  readonly onCursor?: ((cursor: number) => void) | undefined
  /** Called when a connection is open, with where the log begins and ends at that moment. */
  readonly onOpen?: ((ends: LogEnds) => void) | undefined
  /** Called before it waits to come back, with why. */
  readonly onRetry?: ((failure: unknown, delayMs: number) => void) | undefined
  /** Without a byte for so long a connection is taken for dead; default 60,000. The service is silent for 15 s at most. */
  readonly silenceMs?: number | undefined
}

interface StreamDeps extends Pick<TransportOptions, 'clock' | 'retry' | 'nowMs' | 'sleep' | 'random'> {
  readonly open: ReturnType<typeof createStreamOpener>
  readonly latestCursor: (options: CallOptions) => Promise<number>
}

const PATH = '/v2/stream'
const ACCEPT = 'text/event-stream'
const DEFAULT_SILENCE_MS = 60_000
/** Of what came without the end of an event: some times the longest one, so that a hostile peer cannot fill the memory. */
const MAX_UNFINISHED_CHARACTERS = 1024 * 1024
/** A connection that lasted so long ended as every stream does; one that did not is not repeated at once. */
const SHORT_MS = 1_000
/** Corrections of the clock in a row: one is enough, unless a clock is set meanwhile. */
const MAX_CORRECTIONS = 2

/** One stream over as many connections as it takes. See `AgentClient.stream`. */
export async function* readEventStream(
  deps: StreamDeps,
  options: StreamOptions,
): AsyncGenerator<Event, never, undefined> {
  const { signal, after = 0 } = options
  let cursor = after === 'end' ? await deps.latestCursor({ signal }) : after
  if (!Number.isSafeInteger(cursor) || cursor < 0) throw new TypeError("after is the cursor of an event, 0, or 'end'")
  // What is behind 0 was never asked for by its cursor, until a connection has said where it stands.
  let isResuming = cursor > 0
  let hasConnected = false
  let failures = 0
  let corrections = 0
  for (;;) {
    signal?.throwIfAborted()
    const { revision } = deps.clock
    const openedMs = deps.nowMs()
    const connection = new AbortController()
    const ended = signal === undefined ? connection.signal : AbortSignal.any([signal, connection.signal])
    let failure: unknown
    try {
      const response = await deps.open(
        { path: PATH, query: { after: cursor === 0 ? undefined : cursor }, accept: ACCEPT },
        ended,
      )
      const ends = endsOf(response.headers)
      const { earliest } = ends
      if (isResuming && earliest !== undefined && earliest > cursor + 1) throw new EventGapError(cursor, earliest)
      hasConnected = true
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
      // A server closes every stream in the end.
      if (deps.nowMs() - openedMs > SHORT_MS) continue
      failure = new NetworkError('the stream ended')
    } catch (thrown) {
      signal?.throwIfAborted()
      failure = thrown
    } finally {
      // Also where whoever reads has left.
      connection.abort()
    }
    if (isTimestampFault(failure) && deps.clock.revision !== revision && corrections < MAX_CORRECTIONS) {
      corrections += 1
      continue
    }
    failures += 1
    // A stream that was there comes back however long it takes; one that never was fails as any call does.
    const policy = hasConnected ? { ...deps.retry, attempts: Number.POSITIVE_INFINITY } : deps.retry
    const delayMs = delayBeforeRetry(failure, failures, policy, deps.random)
    if (delayMs === undefined) throw failure
    options.onRetry?.(failure, delayMs)
    await deps.sleep(delayMs, signal)
  }
}

type Frame = { readonly kind: 'event'; readonly event: Event } | { readonly kind: 'cursor'; readonly cursor: number }

/** @throws NetworkError where the connection broke or fell silent, AnswerError for what is no stream of this API. */
async function* readFrames(
  response: Response,
  connection: AbortController,
  silenceMs: number,
): AsyncGenerator<Frame, void, undefined> {
  const frames: Frame[] = []
  const parser = createParser({ onEvent: (message) => frames.push(...frameOf(message)) })
  const decoder = new TextDecoder()
  const reader = response.body?.getReader()
  if (reader === undefined) throw new AnswerError('a stream without a body', { status: response.status })
  const silent = (): void => connection.abort(new NetworkError('the stream fell silent'))
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
      if (unfinished > MAX_UNFINISHED_CHARACTERS) throw new AnswerError('an event of a stream does not end')
      // Whoever deals with an event takes the time that it takes; that is no silence.
      yield* frames.splice(0)
      timer = setTimeout(silent, silenceMs)
    }
  } finally {
    clearTimeout(timer)
  }
}

/** Events of other names are a newer service's. */
function frameOf({ event, data }: EventSourceMessage): Frame[] {
  if (event === 'message') return [{ kind: 'event', event: eventShape(parseAnswer(data), 'an event') }]
  if (event !== 'cursor') return []
  const value = parseAnswer(data) as { cursor?: unknown } | null | undefined
  if (!Number.isSafeInteger(value?.cursor)) throw new AnswerError('a cursor of a stream is no integer')
  return [{ kind: 'cursor', cursor: value?.cursor as number }]
}

function isTimestampFault(failure: unknown): boolean {
  return failure instanceof ApiError && failure.code === 'timestamp_out_of_range'
}
