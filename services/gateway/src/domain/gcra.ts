/** The generic cell rate algorithm: a bucket of `burst` requests that refills at `perSecond`, kept as one number. */

export interface Rate {
  readonly perSecond: number
  /** Requests that may come at once after a silence. */
  readonly burst: number
}

export interface Verdict {
  /** When the bucket would be full again, in the caller's milliseconds; what to keep for the next request. */
  readonly fullAtMs: number
  /** 0: admitted. Else how long to wait until one request would be. */
  readonly waitMs: number
}

/** Sums of fractions of a millisecond: less than a microsecond is rounding, not a wait. */
const ROUNDING_MS = 0.001

/**
 * Judges one request. A refused one takes nothing, so a client that keeps trying is served at the rate all the same.
 * @param fullAtMs of the verdict before; undefined for a client that was not seen lately.
 */
export function judgeRequest(fullAtMs: number | undefined, nowMs: number, { perSecond, burst }: Rate): Verdict {
  const intervalMs = 1000 / perSecond
  const from = Math.max(fullAtMs ?? nowMs, nowMs)
  const waitMs = from + intervalMs - burst * intervalMs - nowMs
  return waitMs > ROUNDING_MS ? { fullAtMs: from, waitMs } : { fullAtMs: from + intervalMs, waitMs: 0 }
}

/** How many requests at once would be admitted now. */
export function roomOf(fullAtMs: number, nowMs: number, { perSecond, burst }: Rate): number {
  const intervalMs = 1000 / perSecond
  const emptyMs = nowMs + burst * intervalMs - Math.max(fullAtMs, nowMs)
  return Math.max(0, Math.floor((emptyMs + ROUNDING_MS) / intervalMs))
}

/** What is missing in the bucket, in requests: what was taken and has not come back yet. */
export function levelOf(fullAtMs: number, nowMs: number, { perSecond }: Rate): number {
  return (Math.max(0, fullAtMs - nowMs) * perSecond) / 1000
}

/** The bucket from which so many requests are missing; `levelOf` the other way round. */
export function fullAtOf(level: number, nowMs: number, { perSecond }: Rate): number {
  return nowMs + (level * 1000) / perSecond
}
