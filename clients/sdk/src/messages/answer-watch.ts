/** Waits for the answers to requests. */
import type { Event, Message } from '@svc/contracts/resources.ts'
import { EventGapError, isCode } from '../errors.ts'
import type { StreamOptions } from '../events/event-stream.ts'
import { untilAborted } from '../http/waiting.ts'
import type { Received } from './answer.ts'

const POLL_MS = 1_000

interface Waiting {
  readonly check: (message: Message) => Promise<Received | undefined>
  readonly resolve: (answer: Received) => void
  readonly reject: (failure: unknown) => void
}

interface WatchDeps {
  readonly stream: (options: StreamOptions) => AsyncIterable<Event>
  readonly events: (options: { after: number; signal: AbortSignal }) => AsyncIterable<Event>
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
}

/** One stream for all requests of a client that wait, since an agent may have only two. It is open only while one waits. */
export class AnswerWatch {
  readonly #deps: WatchDeps
  /** By id. The same request can be made twice at the same time. */
  readonly #waiting = new Map<string, Set<Waiting>>()
  #open: { cursor: number; readonly stop: AbortController } | undefined

  constructor(deps: WatchDeps) {
    this.#deps = deps
  }

  /** The place of the stream, if it is open. */
  get cursor(): number | undefined {
    return this.#open?.cursor
  }

  /** Resolves with the first message that names the request in `reply_to` and that `check` takes. */
  wait(id: string, cursor: number, signal: AbortSignal, check: Waiting['check']): Promise<Received> {
    const all = this.#waiting.get(id) ?? new Set()
    this.#waiting.set(id, all)
    let forget = (): unknown => undefined
    const answer = new Promise<Received>((resolve, reject) => {
      const waiting = { check, resolve, reject }
      all.add(waiting)
      forget = () => all.delete(waiting)
    })
    if (this.#open === undefined) void this.#follow(cursor)
    return untilAborted(answer, signal).finally(() => {
      forget()
      if (all.size === 0) this.#waiting.delete(id)
      if (this.#waiting.size === 0) this.#open?.stop.abort()
    })
  }

  /** Looks for answers in the events after a cursor. */
  async search(after: number, signal: AbortSignal): Promise<void> {
    for await (const event of this.#deps.events({ after, signal })) await this.#meet(event)
  }

  async #follow(from: number): Promise<void> {
    const open = { cursor: from, stop: new AbortController() }
    this.#open = open
    try {
      for (;;) await this.#read(open)
    } catch (error) {
      this.#open = undefined
      // A request that began while the stream was closing needs another one.
      if (!open.stop.signal.aborted)
        for (const all of this.#waiting.values()) for (const { reject } of all) reject(error)
      else if (this.#waiting.size > 0) void this.#follow(open.cursor)
    }
  }

  async #read(open: { cursor: number; readonly stop: AbortController }): Promise<void> {
    const { signal } = open.stop
    const onCursor = (cursor: number): void => {
      open.cursor = cursor
    }
    try {
      // Other programs of this agent hold its streams. Meanwhile the history has the answers.
      const onRetry = (failure: unknown): void => {
        if (isCode(failure, 'stream_limit')) void this.search(open.cursor, signal).catch(() => undefined)
      }
      for await (const event of this.#deps.stream({ after: open.cursor, signal, onCursor, onRetry })) {
        open.cursor = event.cursor
        await this.#meet(event)
      }
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof EventGapError) open.cursor = error.earliest - 1
      else if (isCode(error, 'stream_limit')) await this.#deps.sleep(POLL_MS, signal)
      else throw error
    }
  }

  async #meet({ message }: Event): Promise<void> {
    for (const { check, resolve, reject } of this.#waiting.get(message.envelope.reply_to ?? '') ?? []) {
      try {
        const answer = await check(message)
        if (answer !== undefined) resolve(answer)
      } catch (error) {
        reject(error)
      }
    }
  }
}
