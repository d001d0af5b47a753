import { randomBytes } from 'node:crypto'

/** W3C trace context. The trace id is the request id that clients see in `X-Request-Id`. */

// Draws random bytes for many requests at once, because a separate draw would be a noticeable part of a small request's
// cost.
const POOL_BYTES = 24 * 256
let pool = Buffer.alloc(0)
let used = 0

/** A new trace, not sampled. */
export function newTraceparent(): string {
  if (used + 24 > pool.length) {
    pool = randomBytes(POOL_BYTES)
    used = 0
  }
  const hex = pool.toString('hex', used, used + 24)
  used += 24
  return `00-${hex.slice(0, 32)}-${hex.slice(32)}-00`
}

/** The 32 hex digits that identify a request in every log and in the client's answer. */
export function requestIdOf(traceparent: string): string {
  return traceparent.slice(3, 35)
}
