/** Days are UTC days (spec 11.1), by the database's clock. */

export const DAY_MS = 24 * 60 * 60 * 1000

/** Epoch milliseconds of the first UTC midnight after `nowMs`. */
export function nextMidnightMs(nowMs: number): number {
  return (Math.floor(nowMs / DAY_MS) + 1) * DAY_MS
}

/** Whole seconds to the next UTC midnight, at least 1. This is the `Retry-After` of a refusal by budget (spec 4.2). */
export function secondsToMidnight(nowMs: number): number {
  return Math.max(1, Math.ceil((nextMidnightMs(nowMs) - nowMs) / 1000))
}
