import type { Writable } from 'node:stream'
import { inSpan } from '@svc/telemetry/tracing.ts'
import { type AcceptedEvent, acceptedMsOfText } from '../domain/accepted-event.ts'
import { Backlog, type Waiting } from '../domain/backlog.ts'
import { stepFor } from '../domain/gap.ts'
import { Promptness } from '../domain/promptness.ts'
import { cursorFrame, messageFrame, postEvent, RETRY_FRAME } from '../domain/sse.ts'
import { acceptedToStream, eventsWritten } from '../metrics.ts'
import type { History, HistoryPage } from '../sources/history.ts'
import type { Live } from '../sources/live.ts'
import type { Posts } from '../sources/posts.ts'
import { isUnavailable, Pages } from './pages.ts'

/** The sources from which a stream reads. */
export interface Sources {
  readonly history: History
  readonly live: Live
  readonly posts: Posts
}

export interface EventStreamOptions {
  readonly agentId: string
  /** The client has processed everything up to this cursor. */
  readonly after: number
  readonly maxSeconds: number
  readonly heartbeatSeconds: number
  /** The connection is closed if the client takes nothing for this long. */
  readonly slowSeconds: number
  /** The trace of the request that opened the stream. Its reads of history belong to that trace. */
  readonly traceparent: string
}

/** An event that is written. */
interface Written {
  readonly cursor: number
  readonly text: string
  readonly source: 'heard' | 'history'
  /** Unix milliseconds, if known. */
  readonly acceptedMs: number | undefined
}

/**
 * Bounds of the events that wait in each stream. Past them the stream reads history. In addition, a page of history may
 * wait: 512 KiB.
 */
const BACKLOG_LIMITS = { events: 256, characters: 256 * 1024 }
/**
 * Events that waited longer than this for the reader are read again from history, because meanwhile they may have expired, or
 * the reader may no longer read their board.
 */
const FRESH_MS = 1_000
/** A published event usually arrives within this time after it becomes visible at the head of its log. */
const ON_ITS_WAY_MS = 200
/** Timeout for writing the last bytes of a closed stream. */
const END_LIMIT_MS = 3_000

/**
 * One stream: first history, then live events, in the order of cursors, without loss or repetition (spec 9.7). It
 * subscribes before it reads history, so that no event falls between the two. It writes an event that directly follows
 * the last one, and reads history if one is missing.
 */
export class EventStream {
  readonly agentId: string
  readonly #sources: Sources
  readonly #options: EventStreamOptions
  readonly #backlog = new Backlog(BACKLOG_LIMITS)
  readonly #promptness = new Promptness()
  readonly #pages: Pages
  /** Every event up to this cursor was written, or the client may not see it. */
  #last: number
  /** The highest cursor that is known to exist. */
  #target = 0
  #greeted = false
  #closing = false
  #wake: (() => void) | undefined
  #heartbeat: NodeJS.Timeout | undefined
  #listening: Disposable | undefined

  constructor(sources: Sources, options: EventStreamOptions) {
    this.#sources = sources
    this.#options = options
    this.#pages = new Pages(sources.history, options)
    this.agentId = options.agentId
    this.#last = options.after
  }

  /**
   * Subscribes, then reads the first page.
   * @returns the first and last cursor of the log (spec 9.6).
   * @throws ServiceError or Error if either step fails.
   */
  async prepare(): Promise<Pick<HistoryPage, 'earliest' | 'latest'>> {
    this.#listening = await this.#sources.live.listen(this.agentId, (event) => this.#hear(event))
    return this.#pages.readFirst(this.#last)
  }

  /** The number of events that are known to exist but are not written yet. */
  get behind(): number {
    return Math.max(this.#target - this.#last, 0)
  }

  /**
   * Writes until the stream is closed, its time is over, or the reader is gone or too slow. A closed stream ends with a
   * last cursor.
   */
  async writeTo(out: Writable): Promise<void> {
    const wake = (): void => this.#wake?.()
    out.on('drain', wake).on('close', wake).on('error', wake)
    const end = setTimeout(() => this.close(), this.#options.maxSeconds * 1_000)
    this.#heartbeat = setTimeout(() => this.#beat(out), this.#options.heartbeatSeconds * 1_000)
    try {
      out.write(RETRY_FRAME)
      await this.#follow(out)
    } finally {
      clearTimeout(end)
      clearTimeout(this.#heartbeat)
      this.#backlog.clear()
      this.dispose()
    }
    if (!out.destroyed) await endWith(out, cursorFrame(this.#last))
  }

  /** Ends the stream after the event that is being written. */
  close(): void {
    this.#closing = true
    this.#wake?.()
  }

  /** Stops listening. */
  dispose(): void {
    this.#listening?.[Symbol.dispose]()
    this.#listening = undefined
  }

  /** Notes how far the log goes. If the events up to there do not arrive soon, the stream reads them from history. */
  noteHead(head: number): void {
    if (head <= this.#last || head <= this.#target) return
    setTimeout(() => this.#expect(head), ON_ITS_WAY_MS).unref()
  }

  #hear(event: AcceptedEvent): void {
    if (event.kind === 'event') {
      if (event.heard.cursor > this.#last) this.#backlog.push({ ...event.heard, heardMs: performance.now() })
      this.#expect(event.heard.cursor)
    } else this.#expect(event.cursor)
  }

  #expect(cursor: number): void {
    if (cursor > this.#target) this.#target = cursor
    this.#wake?.()
  }

  async #follow(out: Writable): Promise<void> {
    if (!(await this.#replay(out))) return
    this.#greeted = true
    this.#write(out, cursorFrame(this.#last))
    while (await this.#isReady(out)) {
      const heard = this.#backlog.shift()
      if (heard !== undefined) {
        if (!(await this.#stepTraced(out, heard))) return
      } else if (this.#target > this.#last) {
        if (!(await this.#replay(out))) return
      } else {
        this.#promptness.caughtUp(Date.now())
        await this.#woken()
      }
    }
  }

  /** Writes the event in the last span of the trace that began when the message was sent. */
  #stepTraced(out: Writable, heard: Waiting): Promise<boolean> {
    const { traceparent } = heard
    if (traceparent === undefined) return this.#step(out, heard)
    return inSpan('stream event', { kind: 'consumer', parent: traceparent }, () => this.#step(out, heard))
  }

  /** @returns false if the stream must end. */
  async #step(out: Writable, { cursor, content, acceptedMs, heardMs }: Waiting): Promise<boolean> {
    const step = stepFor(this.#last, cursor)
    if (step === 'drop') return true
    if (step === 'read' || isStale(heardMs)) return this.#replay(out)
    if (typeof content === 'string') {
      this.#send(out, { cursor, text: content, source: 'heard', acceptedMs })
      return true
    }
    let message: string | undefined
    try {
      message = await this.#sources.posts.find(content, this.agentId)
    } catch (error) {
      if (!isUnavailable(error)) throw error
      return this.#replay(out) // replay retries for longer
    }
    const foundMs = performance.now()
    if (!(await this.#isReady(out))) return false
    if (isStale(foundMs)) return this.#replay(out)
    if (message === undefined) this.#last = cursor
    else this.#send(out, { cursor, text: postEvent(cursor, message), source: 'heard', acceptedMs })
    return true
  }

  /** Writes history after the last cursor, up to the highest cursor that is known to exist. @returns as `#step`. */
  async #replay(out: Writable): Promise<boolean> {
    while (await this.#isReady(out)) {
      const page = await this.#pages.next(this.#last, () => this.#closing || out.destroyed)
      if (page === undefined) return false
      const written = await this.#writePage(out, page)
      if (written === undefined) return false
      this.#pages.adapt(written, page)
      if (written < page.events.length) continue
      const examined = page.next > this.#last || page.events.length > 0
      this.#last = Math.max(this.#last, page.next)
      // The log ends here. An event that was received but is not in the log does not exist.
      if (!examined) this.#target = Math.min(this.#target, this.#last)
      if (!examined || (this.#target > 0 && this.#last >= this.#target)) return true
    }
    return false
  }

  /** @returns how many events of the page are done before the rest has become stale; undefined if the stream must end. */
  async #writePage(out: Writable, { events }: HistoryPage): Promise<number | undefined> {
    const readMs = performance.now()
    for (const [at, { cursor, text }] of events.entries()) {
      if (!(await this.#isReady(out))) return undefined
      if (isStale(readMs)) return at
      // A page that was read earlier may begin with events that were written meanwhile.
      if (cursor > this.#last) this.#send(out, { cursor, text, source: 'history', acceptedMs: acceptedMsOfText(text) })
    }
    return events.length
  }

  /** Waits until the reader can take another event. @returns false if the stream must end. */
  async #isReady(out: Writable): Promise<boolean> {
    if (!out.writableNeedDrain) return !this.#closing && !out.destroyed
    this.#promptness.waitsForReader()
    const limit = setTimeout(() => out.destroy(), this.#options.slowSeconds * 1_000)
    while (out.writableNeedDrain && !out.destroyed && !this.#closing) await this.#woken()
    clearTimeout(limit)
    return !this.#closing && !out.destroyed
  }

  #woken(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined
        resolve()
      }
    })
  }

  #send(out: Writable, { cursor, text, source, acceptedMs }: Written): void {
    eventsWritten.add({ source })
    const seconds = this.#promptness.secondsSince(acceptedMs, Date.now())
    if (seconds !== undefined) acceptedToStream.observe({ source }, seconds)
    this.#last = cursor
    this.#write(out, messageFrame(cursor, text))
  }

  #write(out: Writable, frame: string): void {
    out.write(frame)
    this.#heartbeat?.refresh()
  }

  /**
   * Sends no heartbeat to a client that takes nothing. It would only queue behind other bytes, and those break the
   * silence when the client reads again.
   */
  #beat(out: Writable): void {
    if (this.#greeted && !out.destroyed && !out.writableNeedDrain) out.write(cursorFrame(this.#last))
    this.#heartbeat?.refresh()
  }
}

/** Writes the last frame. Cuts off a reader that does not take it in time. */
async function endWith(out: Writable, frame: string): Promise<void> {
  const closed = new Promise<void>((resolve) => out.once('close', resolve))
  const limit = setTimeout(() => out.destroy(), END_LIMIT_MS)
  out.end(frame)
  await closed
  clearTimeout(limit)
}

function isStale(sinceMs: number): boolean {
  return performance.now() - sinceMs > FRESH_MS
}
