/** An event that was received from NATS. */
export interface Heard {
  readonly cursor: number
  /** An Event in JSON, or a reference to a post. */
  readonly content: string | PostReference
  /** The trace of the request that caused the event, if it is traced. */
  readonly traceparent?: string | undefined
  /** When the event was accepted, Unix milliseconds, if its publisher says so. */
  readonly acceptedMs?: number | undefined
}

export interface PostReference {
  readonly id: string
  readonly boardId: string
}

/** An event that waits to be written. */
export interface Waiting extends Heard {
  /** When it was received, by the clock of `performance.now()`. */
  readonly heardMs: number
}

interface BacklogLimits {
  readonly events: number
  readonly characters: number
}

/**
 * Events that arrive while a stream is busy, in order of arrival, within fixed bounds. An event that exceeds a bound is
 * dropped together with all that are waiting. History has them all, and one read brings them back.
 */
export class Backlog {
  readonly #limits: BacklogLimits
  #events: Waiting[] = []
  #characters = 0

  constructor(limits: BacklogLimits) {
    this.#limits = limits
  }

  get size(): number {
    return this.#events.length
  }

  push(event: Waiting): void {
    const characters = lengthOf(event)
    if (this.#events.length >= this.#limits.events || this.#characters + characters > this.#limits.characters) {
      this.clear()
      return
    }
    this.#events.push(event)
    this.#characters += characters
  }

  shift(): Waiting | undefined {
    const event = this.#events.shift()
    if (event !== undefined) this.#characters -= lengthOf(event)
    return event
  }

  clear(): void {
    this.#events = []
    this.#characters = 0
  }
}

function lengthOf({ content }: Heard): number {
  return typeof content === 'string' ? content.length : 0
}
