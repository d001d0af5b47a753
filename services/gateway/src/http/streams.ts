import type { Readable } from 'node:stream'
import type { CallContext } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import { openStream, type StreamPlace, type StreamRequest } from '@svc/contracts/stream.ts'
import type { Bus } from '@svc/nats/bus.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { Agent, type Dispatcher } from 'undici'
import { openStreams } from '../metrics.ts'
import { EARLIEST_CURSOR, LATEST_CURSOR, type LogEnds } from './cursor-headers.ts'

/** Relays event streams. The stream service produces them, and their bytes pass through here as they arrive. */
export interface Streams extends AsyncDisposable {
  /**
   * @returns the bytes, and the first and last cursor of the caller's log (spec 9.6). Destroying the bytes ends the stream in the
   *   process that holds it.
   * @throws ServiceError `stream_limit`, `stream_capacity`, `unavailable`.
   */
  open(request: StreamRequest, context: CallContext): Promise<OpenedStream>
}

interface OpenedStream extends LogEnds {
  readonly bytes: Readable
}

interface StreamsOptions {
  readonly bus: Bus
  readonly logger: Logger
}

const CONNECT_LIMIT_MS = 1_000
/** A process may be killed after it has promised a stream and before its first byte. Then ask another process. */
const ATTEMPTS = 3
/** On shutdown, how long streams may take to send their last bytes. */
const CLOSE_LIMIT_MS = 5_000

export function createStreams({ bus, logger }: StreamsOptions): Streams {
  // One connection for each stream. undici does not buffer beyond its high-water mark, and does not decode the bytes.
  const agent = new Agent({ connect: { timeout: CONNECT_LIMIT_MS }, pipelining: 1, connections: null })
  const open = new Map<Readable, StreamPlace>()
  let closing = false
  const level = openStreams.read(() => [[{}, open.size]])

  return {
    async open(request, context) {
      for (let attempt = 1; ; attempt += 1) {
        if (closing) throw new ServiceError('unavailable', { cause: new Error('this gateway is stopping') })
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

    /** Ends all streams. The process that holds a stream writes a last cursor to it. */
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
    if (statusCode !== 200 || typeof earliest !== 'string' || typeof latest !== 'string') {
      await body.dump()
      const cause = new Error(`the stream process answered ${statusCode}`)
      // A 503 means that the history is unavailable, and no other stream process would have it. After any other status the caller
      // tries another stream process.
      throw statusCode === 503 ? new ServiceError('unavailable', { cause }) : cause
    }
    open.set(body, place)
    body.once('close', () => open.delete(body))
    return { bytes: body, earliest, latest }
  }

  async function end(place: StreamPlace): Promise<void> {
    const { body } = await ask('DELETE', place, CLOSE_LIMIT_MS)
    await body.dump()
  }

  async function ask(method: 'GET' | 'DELETE', place: StreamPlace, limitMs: number): Promise<Dispatcher.ResponseData> {
    // undici's own timeouts are accurate only to a second, so use a timer of our own for the head of the answer.
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(new Error('no answer in time')), limitMs)
    try {
      return await agent.request({
        origin: place.address,
        path: `/streams/${place.ticket}`,
        method,
        headersTimeout: 0,
        // Detects a process that disappeared without closing the connection, as when its machine is lost.
        bodyTimeout: place.silence_seconds * 1_000,
        signal: late.signal,
      })
    } finally {
      clearTimeout(timer)
    }
  }
}
