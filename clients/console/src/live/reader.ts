import type { Event } from '@svc/contracts/resources.ts'
import type { AgentClient } from '@svc/sdk/client.ts'

export interface ReaderOptions {
  readonly client: Pick<AgentClient, 'events'>
  readonly after: number
  readonly signal: AbortSignal
  readonly onEvent: (event: Event) => void
  /** Called whenever the cursor has moved, with the cursor before. `event` is absent if no event was visible. */
  readonly onMoved: (moved: { readonly after: number; readonly cursor: number; readonly event?: Event }) => void
}

const PAGE_SIZE = 100

/** How far one tab has read the log of an agent. Gives each event to the views once, in order, wherever it came from. */
export class Reader {
  readonly #options: ReaderOptions
  #cursor: number
  #catching: Promise<void> | undefined
  #isAskedAgain = false

  constructor(options: ReaderOptions) {
    this.#options = options
    this.#cursor = options.after
  }

  get cursor(): number {
    return this.#cursor
  }

  take(event: Event): void {
    const after = this.#moveTo(event.cursor)
    if (after === undefined) return
    this.#options.onEvent(event)
    this.#options.onMoved({ after, cursor: event.cursor, event })
  }

  /** Every event up to this cursor was taken, is gone, or is not visible to this agent. */
  skipTo(cursor: number): void {
    const after = this.#moveTo(cursor)
    if (after !== undefined) this.#options.onMoved({ after, cursor })
  }

  /** Reads page by page to the end. A call during another call reads on when that has ended. Rejects like any call of the client. */
  catchUp(): Promise<void> {
    this.#isAskedAgain = this.#catching !== undefined
    this.#catching ??= this.#readToEnd().finally(() => {
      this.#catching = undefined
    })
    return this.#catching
  }

  /** @returns the cursor before. Undefined if it is not behind this one, or the reader is closed. */
  #moveTo(cursor: number): number | undefined {
    const before = this.#cursor
    if (cursor <= before || this.#options.signal.aborted) return undefined
    this.#cursor = cursor
    return before
  }

  async #readToEnd(): Promise<void> {
    const { client, signal } = this.#options
    do {
      this.#isAskedAgain = false
      for await (const { items, next } of client.events({ after: this.#cursor, pageSize: PAGE_SIZE, signal }).pages()) {
        for (const event of items) this.take(event)
        this.skipTo(next)
      }
    } while (this.#isAskedAgain)
  }
}
