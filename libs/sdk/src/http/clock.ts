/** An estimate of the service's clock. */
export interface Clock {
  /** Epoch milliseconds by the service's clock. */
  nowMs(): number
  /** Rises by 1 with every correction. */
  readonly revision: number
  /**
   * Corrects the clock by the `Date` header of an answer (spec 3.14, 13.3).
   * @param sentMs when the request left, by this machine's clock.
   * @param receivedMs when its answer came, by this machine's clock.
   */
  observe(date: string | null, sentMs: number, receivedMs: number): void
}

/** `Date` has whole seconds, so a smaller difference proves nothing. */
const RESOLUTION_MS = 1_500
/** After a longer round trip, `Date` says too little about the current time. */
const MAX_ROUND_TRIP_MS = 20_000

/** @param localNowMs this machine's clock. */
export function createClock(localNowMs: () => number = Date.now): Clock {
  let offsetMs = 0
  let revision = 0
  return {
    get revision() {
      return revision
    },
    nowMs: () => localNowMs() + offsetMs,
    observe(date, sentMs, receivedMs) {
      const atMs = date === null ? Number.NaN : Date.parse(date)
      const roundTripMs = receivedMs - sentMs
      if (Number.isNaN(atMs) || roundTripMs < 0 || roundTripMs > MAX_ROUND_TRIP_MS) return
      // `Date` drops the fraction, half a second on average. Assume that it was written half-way through the round trip.
      const offered = atMs + 500 - (sentMs + roundTripMs / 2)
      if (Math.abs(offered - offsetMs) <= RESOLUTION_MS + roundTripMs / 2) return
      offsetMs = Math.abs(offered) <= RESOLUTION_MS ? 0 : Math.round(offered)
      revision += 1
    },
  }
}
