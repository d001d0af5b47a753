/**
 * Which events show how promptly a stream writes: those that were accepted after it had written everything, and while its
 * reader took what it wrote. Earlier events waited for the stream to open, or for the reader.
 */
export class Promptness {
  #sinceMs = Number.POSITIVE_INFINITY

  /** The stream has written everything that it knows of. */
  caughtUp(nowMs: number): void {
    this.#sinceMs = Math.min(this.#sinceMs, nowMs)
  }

  /** The stream waits for its reader. What it writes until it has caught up again does not count. */
  waitsForReader(): void {
    this.#sinceMs = Number.POSITIVE_INFINITY
  }

  /** @returns undefined if the event does not count. At least 0, because the clocks of two machines may differ. */
  secondsSince(acceptedMs: number | undefined, nowMs: number): number | undefined {
    if (acceptedMs === undefined || acceptedMs < this.#sinceMs) return undefined
    return Math.max(nowMs - acceptedMs, 0) / 1_000
  }
}
