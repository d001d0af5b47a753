import { AnswerError, ApiError, NetworkError } from './errors.ts'

/** How often and how patiently a call is repeated. Source: spec 13.2. */
export interface RetryPolicy {
  /** Requests for one call at most, the first included; 1: never repeat. Default 6. */
  readonly attempts: number
  /** The first wait; each further one is twice as long. Half of every wait is drawn at random. Default 250. */
  readonly baseDelayMs: number
  /** The longest wait that is the SDK's own choice. Default 5,000. */
  readonly maxDelayMs: number
  /** A `Retry-After` longer than this is not waited for: the error is thrown at once. Default 30. */
  readonly maxRetryAfterSeconds: number
}

export const DEFAULT_RETRY: RetryPolicy = {
  attempts: 6,
  baseDelayMs: 250,
  maxDelayMs: 5_000,
  maxRetryAfterSeconds: 30,
}

/** Statuses with which a proxy says that the service is not there now. */
const TRANSIENT_STATUSES: readonly (number | undefined)[] = [429, 502, 503, 504]

/** The last two of streams alone: room comes back by itself, at the latest when a dead process's leases have run out. */
const REPEATED_CODES: readonly string[] = [
  'unavailable',
  'rate_limited',
  'nonce_replayed',
  'stream_limit',
  'stream_capacity',
]

/**
 * How long to wait before the next request of a call, or undefined where repeating is no use. Repeated are network
 * faults, 503, and 429 `rate_limited`; not the budget's 429, which last until midnight, and no other refusal. A
 * `nonce_replayed` with a nonce fresh from the random source means that something between here and there sent the
 * request twice: signing again tells how the first went, since every call may be repeated.
 * @param attempt requests made so far, at least 1.
 * @param random uniform in [0, 1).
 */
export function delayBeforeRetry(
  failure: unknown,
  attempt: number,
  policy: RetryPolicy,
  random: () => number,
): number | undefined {
  if (attempt >= policy.attempts || !isTransient(failure)) return undefined
  const ceilingMs = Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** (attempt - 1))
  const ownMs = ceilingMs * (0.5 + random() / 2)
  const askedSeconds = failure instanceof ApiError ? (failure.retryAfterSeconds ?? 0) : 0
  if (askedSeconds > policy.maxRetryAfterSeconds) return undefined
  // Everybody who was refused in one second is told the same time: the random part keeps them apart.
  return askedSeconds > 0 ? askedSeconds * 1000 + ownMs / 2 : ownMs
}

function isTransient(failure: unknown): boolean {
  if (failure instanceof NetworkError) return true
  if (failure instanceof AnswerError) return TRANSIENT_STATUSES.includes(failure.status)
  if (!(failure instanceof ApiError)) return false
  return REPEATED_CODES.includes(failure.code)
}
