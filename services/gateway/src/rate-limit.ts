import { LRUCache } from 'lru-cache'
import { judgeRequest, type Rate } from './domain/gcra.ts'

/** Counts requests by client and says when one is too many. Source: decisions 47. */
export interface RateLimiter {
  /** @returns 0 where the request is admitted, else whole seconds to wait, at least 1, for `Retry-After`. */
  take(client: string): number
}

/**
 * Clients that are remembered at most. Past that the one seen longest ago is forgotten, which gives it a full bucket: to gain
 * from that, a client must come from this many addresses, and could as well use each one's own allowance.
 */
const MAX_CLIENTS = 100_000

/** A limiter that knows the requests of this process alone. */
export function createRateLimiter(rate: Rate, now: () => number = () => performance.now()): RateLimiter {
  const fullAt = new LRUCache<string, number>({ max: MAX_CLIENTS })
  return {
    take(client) {
      const { fullAtMs, waitMs } = judgeRequest(fullAt.get(client), now(), rate)
      fullAt.set(client, fullAtMs)
      return Math.ceil(waitMs / 1000)
    },
  }
}
