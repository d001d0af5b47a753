/** The generic cell rate algorithm (GCRA): a bucket of `burst` requests that refills at `perSecond`, stored as one number. */

export interface Rate {
  readonly perSecond: number
  /** Requests that are admitted at once after an idle time. */
  readonly burst: number
}

interface Verdict {
  /** When the bucket would be full again, on the caller's clock in milliseconds. Pass it in for the next request. */
  readonly fullAtMs: number
  /** 0 if the request is admitted, else how long to wait until one request would be admitted. */
  readonly waitMs: number
}

/** Rounding error of sums of fractions of a millisecond: a wait of less than 1 µs is no wait. */
const ROUNDING_MS = 0.001

/**
 * Judges one request. A refused request takes nothing, so a client that keeps retrying is still served at its rate.
 * @param fullAtMs from the previous verdict; undefined for a client that was not seen recently.
 */
export function judgeRequest(fullAtMs: number | undefined, nowMs: number, { perSecond, burst }: Rate): Verdict {
  const intervalMs = 1000 / perSecond
  const from = Math.max(fullAtMs ?? nowMs, nowMs)
  const waitMs = from + intervalMs - burst * intervalMs - nowMs
  return waitMs > ROUNDING_MS ? { fullAtMs: from, waitMs } : { fullAtMs: from + intervalMs, waitMs: 0 }
}

/** How many requests would be admitted if they came now, all at once. */
export function roomOf(fullAtMs: number, nowMs: number, { perSecond, burst }: Rate): number {
  const intervalMs = 1000 / perSecond
  const emptyMs = nowMs + burst * intervalMs - Math.max(fullAtMs, nowMs)
  return Math.max(0, Math.floor((emptyMs + ROUNDING_MS) / intervalMs))
}

/** How many requests are missing from the bucket: those taken and not refilled yet. */
export function levelOf(fullAtMs: number, nowMs: number, { perSecond }: Rate): number {
  return (Math.max(0, fullAtMs - nowMs) * perSecond) / 1000
}

/** The inverse of `levelOf`: when a bucket that misses `level` requests would be full again. */
export function fullAtOf(level: number, nowMs: number, { perSecond }: Rate): number {
  return nowMs + (level * 1000) / perSecond
}
