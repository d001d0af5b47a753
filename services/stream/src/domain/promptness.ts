/**
 * Decides which events measure how promptly a stream writes. An event counts if it was accepted after the stream had
 * written everything, and the reader has kept up since. Other events waited for the stream to open, or for the reader.
 */
export class Promptness {
  #sinceMs = Number.POSITIVE_INFINITY

  /** The stream has written everything that it knows of. */
  caughtUp(nowMs: number): void {
    this.#sinceMs = Math.min(this.#sinceMs, nowMs)
  }

  /** The stream waits for its reader. Events that it writes until it has caught up again do not count. */
  waitsForReader(): void {
    this.#sinceMs = Number.POSITIVE_INFINITY
  }

  /** @returns undefined if the event does not count. At least 0, because the clocks of two machines may differ. */
  secondsSince(acceptedMs: number | undefined, nowMs: number): number | undefined {
    if (acceptedMs === undefined || acceptedMs < this.#sinceMs) return undefined
    return Math.max(nowMs - acceptedMs, 0) / 1_000
  }
}
