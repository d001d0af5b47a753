/** The service's time as well as this machine can tell it. */
export interface Clock {
  /** Epoch milliseconds by the service's clock. */
  nowMs(): number
  /** Rises with every move of the clock. */
  readonly revision: number
  /**
   * Takes in the `Date` of an answer, by which a client corrects its clock (spec 3.14, 13.3).
   * @param sentMs @param receivedMs when the request left and its answer came, by this machine's clock.
   */
  observe(date: string | null, sentMs: number, receivedMs: number): void
}

/** `Date` counts whole seconds, so that less than this is no sign of a difference. */
const RESOLUTION_MS = 1_500
/** An answer that took longer says too little about when it was made. */
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
      // half of the second that Date cuts off, half of the way there and back
      const offered = atMs + 500 - (sentMs + roundTripMs / 2)
      if (Math.abs(offered - offsetMs) <= RESOLUTION_MS + roundTripMs / 2) return
      offsetMs = Math.abs(offered) <= RESOLUTION_MS ? 0 : Math.round(offered)
      revision += 1
    },
  }
}
