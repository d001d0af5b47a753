import type { ErrorCode } from '@svc/contracts/errors.ts'

/** A code of a newer service than this SDK knows; contracts only grow. */
export type UnknownErrorCode = string & Record<never, never>

/**
 * The service refused the request, in its own words. `code` is what to decide by, one of those in spec 4.3; the message
 * is for people and may change (spec 4.1).
 */
export class ApiError extends Error {
  override name = 'ApiError'
  /** HTTP status. */
  readonly status: number
  readonly code: ErrorCode | UnknownErrorCode
  /** Names the request in the service's logs; undefined where the answer did not carry it. */
  readonly requestId: string | undefined
  /** Whole seconds to wait at least; every 429 has it. For the budget's codes it is the time to the next UTC midnight. */
  readonly retryAfterSeconds: number | undefined

  constructor(fields: {
    status: number
    code: string
    message: string
    requestId?: string | undefined
    retryAfterSeconds?: number | undefined
  }) {
    super(fields.message)
    this.status = fields.status
    this.code = fields.code
    this.requestId = fields.requestId
    this.retryAfterSeconds = fields.retryAfterSeconds
  }
}

/**
 * No answer came: connection refused, lost or timed out, after all retries. What the call did is unknown. Every call
 * may be repeated; a message only as the same envelope (`AgentClient.post`), and `createBoard` makes a second board.
 */
export class NetworkError extends Error {
  override name = 'NetworkError'
}

/**
 * Events between the one that was dealt with last and `earliest` existed and are gone: expired, or older than the retention.
 * Deal with what that means, and go on with `after: earliest - 1`.
 */
export class EventGapError extends Error {
  override name = 'EventGapError'
  /** Cursor of the last event that was dealt with. */
  readonly after: number
  /** The oldest cursor that the service still has, or the next one to come. */
  readonly earliest: number

  constructor(after: number, earliest: number) {
    super(`the events ${after + 1} to ${earliest - 1} are no longer kept`)
    this.after = after
    this.earliest = earliest
  }
}

/** An answer came, but not one that this API gives: a proxy's page, another service, or a broken one. */
export class AnswerError extends Error {
  override name = 'AnswerError'
  /** HTTP status; undefined where the fault was found later than in one answer. */
  readonly status: number | undefined
  readonly requestId: string | undefined

  constructor(
    message: string,
    options: ErrorOptions & { status?: number | undefined; requestId?: string | undefined } = {},
  ) {
    super(message, options)
    this.status = options.status
    this.requestId = options.requestId
  }
}

/**
 * Why a received envelope cannot be trusted or read:
 * - `unknown_sender`: no public key is known whose agent id is `from`; nothing is said about the envelope.
 * - `wrong_key`: the key that was given is not the sender's: its agent id is not `from`.
 * - `invalid_signature`: the signature is not the sender's over this envelope.
 * - `cannot_open`: sealed for another key, altered, or not of the agreed form.
 */
export type VerificationFailure = 'unknown_sender' | 'wrong_key' | 'invalid_signature' | 'cannot_open'

/** A received envelope did not verify or did not open. */
export class VerificationError extends Error {
  override name = 'VerificationError'
  readonly reason: VerificationFailure

  constructor(reason: VerificationFailure, message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}
