import type { ErrorCode } from '@svc/contracts/errors.ts'
import { AnswerError, ApiError, isCode, NetworkError } from '../errors.ts'
import { askedSecondsOf, BUDGET_CODES } from '../http/retry.ts'

const BASE_DELAY_MS = 1_000
const MAX_DELAY_MS = 60_000
/** Only the recipient can end a pending request, so the service is not asked every minute. */
const MAX_PENDING_MS = 600_000
/** A longer `Retry-After` is not obeyed: a limit can be raised before the day ends, and a false header must not stop the agent. */
const MAX_ASKED_MS = 600_000
/** The agent can do nothing any more, with this message or another. */
const FATAL_CODES: readonly string[] = [
  'signer_revoked',
  'signer_unknown',
  'signature_invalid',
  'unauthenticated',
  'timestamp_out_of_range',
] satisfies ErrorCode[]
/** The envelope is composed again if it is too old, so a second refusal concerns this machine's clock. */
const PASSING_CODES: readonly string[] = [
  ...BUDGET_CODES,
  'request_pending',
  'rate_limited',
  'nonce_replayed',
  'envelope_timestamp_out_of_range',
  'expired',
] satisfies (ErrorCode | string)[]

/** Whether no call of this agent can succeed any more. */
export function isFatal(failure: unknown): boolean {
  return failure instanceof ApiError && FATAL_CODES.includes(failure.code)
}

/** Whether the same call can succeed later: an outage, or a limit. */
export function isPassing(failure: unknown): boolean {
  if (failure instanceof NetworkError || failure instanceof AnswerError) return true
  return failure instanceof ApiError && (failure.status >= 500 || PASSING_CODES.includes(failure.code))
}

/**
 * How long to wait before the next attempt.
 * @param failures in a row, at least 1.
 * @param random uniform in [0, 1).
 */
export function delayAfter(failure: unknown, failures: number, random: number): number {
  const ceilingMs = Math.min(
    isCode(failure, 'request_pending') ? MAX_PENDING_MS : MAX_DELAY_MS,
    BASE_DELAY_MS * 2 ** (failures - 1),
  )
  const ownMs = ceilingMs * (0.5 + random / 2)
  return Math.max(ownMs, Math.min(askedSecondsOf(failure) * 1_000 + ownMs / 2, MAX_ASKED_MS))
}
