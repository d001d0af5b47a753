import { ERRORS, type ErrorCode, ServiceError } from '@svc/contracts/errors.ts'
import type { TextAnswer } from './answer.ts'

/** The one place where an error becomes an answer: `{"error":{"code","message"}}` and its HTTP status (spec 4.1, 4.3). */
export function errorAnswer(error: ServiceError): TextAnswer {
  const { status, message } = ERRORS[error.code]
  // Only the log has the details of a 500 (spec 4.1).
  const shown = error.code === 'internal' ? message : error.message
  return {
    status,
    text: JSON.stringify({ error: { code: error.code, message: shown } }),
    headers: headersOf(status, error),
  }
}

/** Turns anything thrown that is not a ServiceError, which is a bug, into `internal` with that error as its cause. */
export function asServiceError(error: unknown): ServiceError {
  return error instanceof ServiceError ? error : new ServiceError('internal', { cause: error })
}

function headersOf(status: number, error: ServiceError): NonNullable<TextAnswer['headers']> {
  switch (status) {
    case 401:
      return { 'www-authenticate': 'SVC' } // RFC 9110, 15.5.2
    case 429:
      return { 'retry-after': String(error.retryAfterSeconds ?? defaultRetryAfter(error.code)) }
    case 503:
      return { 'retry-after': String(error.retryAfterSeconds ?? 1) }
    default:
      return {}
  }
}

const SECONDS_PER_DAY = 86_400

/** Every 429 has a Retry-After. If budget did not send one, this is the time to the next UTC midnight (spec 4.2). */
function defaultRetryAfter(code: ErrorCode): number {
  const daily = code === 'budget_exhausted' || code === 'hard_limit_reached' || code === 'introduction_limit_reached'
  return daily ? SECONDS_PER_DAY - (Math.floor(Date.now() / 1000) % SECONDS_PER_DAY) : 1
}
