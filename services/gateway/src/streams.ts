import type { Readable } from 'node:stream'
import type { CallContext } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import { openStream, type StreamPlace, type StreamRequest } from '@svc/contracts/stream.ts'
import type { Bus } from '@svc/nats/bus.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { Agent, type Dispatcher } from 'undici'
import { EARLIEST_CURSOR, LATEST_CURSOR, type LogEnds } from './cursor-headers.ts'
import { openStreams } from './http-metrics.ts'

/** Event streams, which are other processes' work: their bytes pass through here as they come. */
export interface Streams extends AsyncDisposable {
  /**
   * @returns the bytes, and the first and last cursor of the caller's log (spec 9.6). Destroying the bytes ends the stream where it is held.
   * @throws ServiceError `stream_limit`, `stream_capacity`, `unavailable`.
   */
  open(request: StreamRequest, context: CallContext): Promise<OpenedStream>
}

export interface OpenedStream extends LogEnds {
  readonly bytes: Readable
}

export interface StreamsOptions {
  readonly bus: Bus
  readonly logger: Logger
}

const CONNECT_LIMIT_MS = 1_000
/** Between asking a process for a stream and its first byte a process may be killed: another one is asked. */
const ATTEMPTS = 3
/** The last bytes of the streams that are asked to end. */
const CLOSE_LIMIT_MS = 5_000

export function createStreams({ bus, logger }: StreamsOptions): Streams {
  // A connection for each stream; undici neither buffers beyond its high-water mark nor decodes what passes.
  const agent = new Agent({ connect: { timeout: CONNECT_LIMIT_MS }, pipelining: 1, connections: null })
  const open = new Map<Readable, StreamPlace>()
  let closing = false
  const level = openStreams.read(() => [[{}, open.size]])

  return {
    async open(request, context) {
      for (let attempt = 1; ; attempt += 1) {
        if (closing) throw new ServiceError('unavailable')
        const place = await bus.call(openStream, request, context)
        try {
          return await fetchStream(place, context.deadlineMs - Date.now())
        } catch (error) {
          if (error instanceof ServiceError) throw error
          logger.warn({ err: error, address: place.address }, 'a stream could not be fetched')
          if (attempt === ATTEMPTS) throw new ServiceError('unavailable', { cause: error })
        }
      }
    },

    /** Each ends with a last cursor, which the process that holds it writes. */
    async [Symbol.asyncDispose]() {
      closing = true
      const ends = [...open.keys()].map((bytes) => new Promise((resolve) => bytes.once('close', resolve)))
      const limit = setTimeout(() => {
        for (const bytes of open.keys()) bytes.destroy()
      }, CLOSE_LIMIT_MS)
      await Promise.all([...open].map(([bytes, place]) => end(place).catch(() => bytes.destroy())))
      await Promise.all(ends)
      clearTimeout(limit)
      await agent.destroy()
      level[Symbol.dispose]()
    },
  }

  async function fetchStream(place: StreamPlace, leftMs: number): Promise<OpenedStream> {
    const { statusCode, headers, body } = await ask('GET', place, Math.max(leftMs, 1))
    const { [EARLIEST_CURSOR]: earliest, [LATEST_CURSOR]: latest } = headers
    if (statusCode !== 200 || typeof earliest !== 'string') {
      await body.dump()
      const cause = new Error(`the stream process answered ${statusCode}`)
      // It has no history to begin with, as no other process would; anything else is this one's fault.
      throw statusCode === 503 ? new ServiceError('unavailable', { cause }) : cause
    }
    open.set(body, place)
    body.once('close', () => open.delete(body))
    // A process of the release before sends no latest cursor.
    return { bytes: body, earliest, latest: typeof latest === 'string' ? latest : undefined }
  }

  async function end(place: StreamPlace): Promise<void> {
    const { body } = await ask('DELETE', place, CLOSE_LIMIT_MS)
    await body.dump()
  }

  async function ask(method: 'GET' | 'DELETE', place: StreamPlace, limitMs: number): Promise<Dispatcher.ResponseData> {
    // Of undici's own limits, which are kept to the second, none is for the head of an answer.
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(new Error('no answer in time')), limitMs)
    try {
      return await agent.request({
        origin: place.address,
        path: `/streams/${place.ticket}`,
        method,
        headersTimeout: 0,
        // A process that is gone without a word: its machine was lost.
        bodyTimeout: place.silence_seconds * 1_000,
        signal: late.signal,
      })
    } finally {
      clearTimeout(timer)
    }
  }
}
