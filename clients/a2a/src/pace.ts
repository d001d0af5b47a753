const FIRST_WAIT_MS = 3_000
const GROWTH = 1.25
const LONGEST_MS = 24 * 3_600_000

export interface Posted {
  readonly units: number
  readonly settled: Promise<unknown>
}

/**
 * Gathers changes, because each message costs units. The wait begins at 3 s, and grows by a quarter for each unit. So a turn of an
 * hour costs at most some 30 units, and one of a day 45.
 */
export class Pace implements AsyncDisposable {
  readonly #post: () => Promise<Posted | undefined>
  #waitMs = FIRST_WAIT_MS
  #timer: NodeJS.Timeout | undefined
  #posting: Promise<unknown> = Promise.resolve()

  /** @param post undefined if there was nothing to send. Its failures are ignored, because later changes follow. */
  constructor(post: () => Promise<Posted | undefined>) {
    this.#post = post
  }

  /** Something has changed. The last message is sent before the next wait begins. */
  touch(): void {
    this.#timer ??= setTimeout(() => {
      const posting = this.#post().catch(() => undefined)
      this.#posting = posting
      void posting.then(async (posted) => {
        this.#waitMs = Math.min(this.#waitMs * GROWTH ** (posted?.units ?? 0), LONGEST_MS)
        await posted?.settled
        this.#timer = undefined
      })
    }, this.#waitMs).unref()
  }

  /** Resolves when nothing is posted any more. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer)
    await this.#posting
  }
}
