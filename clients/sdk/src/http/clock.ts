/** An estimate of the service's clock. */
export interface Clock {
  /** Epoch milliseconds by the service's clock. */
  nowMs(): number
  /** Rises by 1 with every correction. */
  readonly revision: number
  /**
   * Corrects the clock by the `Date` header of a refusal with `timestamp_out_of_range` (spec 13.3). No other answer may move
   * the clock: a false header could otherwise make this client sign requests that somebody else can use later.
   * @param sentMs when the request left, by this machine's clock.
   * @param receivedMs when its answer came, by this machine's clock.
   */
  correct(date: string | null, sentMs: number, receivedMs: number): void
}

/** `Date` has whole seconds, so a smaller difference proves nothing. */
const RESOLUTION_MS = 1_500
/** After a longer round trip, `Date` says too little about the current time. */
const MAX_ROUND_TRIP_MS = 20_000
/** Covers a wrong time zone. Beyond it, only somebody who can set this machine's clock should correct it. */
const MAX_CORRECTION_MS = 24 * 3_600_000

/**
 * @param localNowMs this machine's clock.
 * @param warn told each correction, and each one that is too large.
 */
export function createClock(localNowMs: () => number, warn: (message: string) => void): Clock {
  let offsetMs = 0
  let revision = 0
  return {
    get revision() {
      return revision
    },
    nowMs: () => localNowMs() + offsetMs,
    correct(date, sentMs, receivedMs) {
      const atMs = date === null ? Number.NaN : Date.parse(date)
      const roundTripMs = receivedMs - sentMs
      if (Number.isNaN(atMs) || roundTripMs < 0 || roundTripMs > MAX_ROUND_TRIP_MS) return
      // `Date` drops the fraction, half a second on average. Assume that it was written half-way through the round trip.
      const offered = atMs + 500 - (sentMs + roundTripMs / 2)
      if (Math.abs(offered - offsetMs) <= RESOLUTION_MS + roundTripMs / 2) return
      const difference = `this machine's clock is ${Math.round(Math.abs(offered) / 1_000)} s ${offered > 0 ? 'behind' : 'ahead of'} the service's`
      if (Math.abs(offered) > MAX_CORRECTION_MS) {
        warn(
          `${difference}, which is more than a day, so requests are not signed with the service's time: set the clock`,
        )
        return
      }
      offsetMs = Math.abs(offered) <= RESOLUTION_MS ? 0 : Math.round(offered)
      revision += 1
      if (offsetMs !== 0) warn(`${difference}: requests are now signed with the service's time`)
    },
  }
}
