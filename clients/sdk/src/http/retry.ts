import type { ErrorCode } from '@svc/contracts/errors.ts'
import { AnswerError, ApiError, NetworkError } from '../errors.ts'

/** How often a call is retried, and how long it waits between requests (spec 13.2). */
export interface RetryPolicy {
  /** The most requests for one call, the first included. 1 disables retries. Default 6. */
  readonly attempts: number
  /** The first wait. Each further wait is twice as long. Half of every wait is random. Default 250. */
  readonly baseDelayMs: number
  /** The longest wait if the service does not ask for a longer one. Default 5,000. */
  readonly maxDelayMs: number
  /** If `Retry-After` is longer than this, the error is thrown at once. Default 30. */
  readonly maxRetryAfterSeconds: number
}

export const DEFAULT_RETRY: RetryPolicy = {
  attempts: 6,
  baseDelayMs: 250,
  maxDelayMs: 5_000,
  maxRetryAfterSeconds: 30,
}

/** A proxy answers with one of these statuses if it cannot reach the service, or if there are too many requests (spec 13.2). */
const TRANSIENT_STATUSES: readonly (number | undefined)[] = [429, 502, 503, 504]

export function isTransientStatus(status: number | undefined): boolean {
  return TRANSIENT_STATUSES.includes(status)
}

/** These last until midnight UTC, so a retry does not help. */
export const BUDGET_CODES: readonly string[] = [
  'budget_exhausted',
  'hard_limit_reached',
  'introduction_limit_reached',
] satisfies ErrorCode[]

/**
 * How long to wait before the next request of a call, or undefined if a retry does not help. Network faults, `internal` and
 * `TRANSIENT_STATUSES` are retried, whoever answers, except for `BUDGET_CODES`. So is `nonce_replayed`: every nonce is fresh,
 * so something on the way sent the request twice. A retry then shows the outcome of the first request, because every call
 * may be repeated.
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
  const askedSeconds = askedSecondsOf(failure)
  if (askedSeconds > policy.maxRetryAfterSeconds) return undefined
  // All clients that were refused within the same second get the same Retry-After. The random part spreads their retries.
  return askedSeconds > 0 ? askedSeconds * 1000 + ownMs / 2 : ownMs
}

/** The seconds that the answer asked to wait. 0 if it did not. */
export function askedSecondsOf(failure: unknown): number {
  const isAnswer = failure instanceof ApiError || failure instanceof AnswerError
  return isAnswer ? (failure.retryAfterSeconds ?? 0) : 0
}

function isTransient(failure: unknown): boolean {
  if (failure instanceof NetworkError) return true
  if (failure instanceof AnswerError) return isTransientStatus(failure.status)
  if (!(failure instanceof ApiError) || BUDGET_CODES.includes(failure.code)) return false
  return isTransientStatus(failure.status) || failure.code === 'internal' || failure.code === 'nonce_replayed'
}
