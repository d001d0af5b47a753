import { ServiceError } from '@svc/contracts/errors.ts'
import { type History, type HistoryPage, PAGE_EVENTS } from '../sources/history.ts'

/** How long to wait while messaging is unavailable. After that the stream closes, so that the client learns of it. */
const LIMIT_MS = 15_000
const RETRY_MS = 100
const MAX_RETRY_MS = 1_000

/** The pages of history that one stream writes. */
export class Pages {
  readonly #history: History
  readonly #reader: { readonly agentId: string; readonly traceparent: string }
  #first: HistoryPage | undefined
  #limit = PAGE_EVENTS

  constructor(history: History, { agentId, traceparent }: { readonly agentId: string; readonly traceparent: string }) {
    this.#history = history
    this.#reader = { agentId, traceparent }
  }

  /** Reads the first page, which `next` returns. */
  async readFirst(after: number): Promise<HistoryPage> {
    this.#first = await this.#read(after)
    return this.#first
  }

  /** Retries while messaging is unavailable. @returns undefined if the stream must end. */
  async next(after: number, isOver: () => boolean): Promise<HistoryPage | undefined> {
    const first = this.#first
    this.#first = undefined
    if (first !== undefined) return first
    const giveUpMs = performance.now() + LIMIT_MS
    for (let pauseMs = RETRY_MS; !isOver(); pauseMs = Math.min(pauseMs * 2, MAX_RETRY_MS)) {
      try {
        return await this.#read(after)
      } catch (error) {
        if (!isUnavailable(error)) throw error
        if (performance.now() > giveUpMs) return undefined
        await new Promise((resolve) => setTimeout(resolve, pauseMs))
      }
    }
    return undefined
  }

  /** A slow reader gets shorter pages, because the part of a page that it does not take in time is read again. */
  adapt(written: number, { events }: HistoryPage): void {
    this.#limit = written < events.length ? Math.max(written, 1) : Math.min(this.#limit * 2, PAGE_EVENTS)
  }

  #read(after: number): Promise<HistoryPage> {
    return this.#history.read({ ...this.#reader, after, limit: this.#limit })
  }
}

export function isUnavailable(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'unavailable'
}
