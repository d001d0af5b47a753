/** An event that was heard and waits to be written. */
export interface Heard {
  readonly cursor: number
  /** An Event in JSON, or the post that it refers to. */
  readonly content: string | PostReference
  /** Of the request that it comes from, where that is traced. */
  readonly traceparent?: string | undefined
}

export interface PostReference {
  readonly id: string
  readonly boardId: string
}

export interface BacklogLimits {
  readonly events: number
  readonly characters: number
}

/**
 * What was heard while a stream was busy: in order of arrival and bounded. What does not fit is dropped with everything else
 * that waits: history has it, and is read once for all of it.
 */
export class Backlog {
  readonly #limits: BacklogLimits
  #events: Heard[] = []
  #characters = 0

  constructor(limits: BacklogLimits) {
    this.#limits = limits
  }

  get size(): number {
    return this.#events.length
  }

  push(event: Heard): void {
    const characters = lengthOf(event)
    if (this.#events.length >= this.#limits.events || this.#characters + characters > this.#limits.characters) {
      this.clear()
      return
    }
    this.#events.push(event)
    this.#characters += characters
  }

  shift(): Heard | undefined {
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
