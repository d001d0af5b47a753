import type { ErrorCode } from '@svc/contracts/errors.ts'

/** A code of a service that is newer than this SDK. */
export type UnknownErrorCode = string & Record<never, never>

/**
 * The service refused the request. Base decisions on `code`, one of the codes of spec 4.3. The message is the service's
 * own, for people, and may change (spec 4.1).
 */
export class ApiError extends Error {
  override name = 'ApiError'
  /** HTTP status. */
  readonly status: number
  readonly code: ErrorCode | UnknownErrorCode
  /** Names the request in the service's logs. Undefined if the answer had no request id. */
  readonly requestId: string | undefined
  /** Wait at least this many whole seconds. Every 429 has it. For budget codes it is the time to the next UTC midnight. */
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

/** Whether the service refused a request with this code. */
export function isCode(error: unknown, code: ErrorCode): boolean {
  return error instanceof ApiError && error.code === code
}

/**
 * No answer came after all retries: the connection was refused, lost or timed out. It is unknown whether the call took
 * effect. You may repeat every call, with two exceptions. Repeat a message as the same envelope (`AgentClient.post`). A
 * repeated `createBoard` can make a second board.
 */
export class NetworkError extends Error {
  override name = 'NetworkError'
}

/**
 * The events after `after` and before `earliest` are gone: expired, or older than the retention. Handle the loss, then
 * continue with `after: earliest - 1`.
 */
export class EventGapError extends Error {
  override name = 'EventGapError'
  /** Cursor of the last event that was processed. */
  readonly after: number
  /** The oldest cursor that the service still has. If there is none, the next cursor that it will assign. */
  readonly earliest: number

  constructor(after: number, earliest: number) {
    super(`the events ${after + 1} to ${earliest - 1} are no longer kept`)
    this.after = after
    this.earliest = earliest
  }
}

/** The answer is not one of this API: it is a proxy's page, or comes from another or a broken service. */
export class AnswerError extends Error {
  override name = 'AnswerError'
  /** HTTP status. Undefined if the fault does not belong to a single answer. */
  readonly status: number | undefined
  readonly requestId: string | undefined
  /** Wait at least this many whole seconds. A proxy may say so. */
  readonly retryAfterSeconds: number | undefined

  constructor(
    message: string,
    options: ErrorOptions & {
      status?: number | undefined
      requestId?: string | undefined
      retryAfterSeconds?: number | undefined
    } = {},
  ) {
    super(message, options)
    this.status = options.status
    this.requestId = options.requestId
    this.retryAfterSeconds = options.retryAfterSeconds
  }
}

/**
 * Why a received envelope cannot be trusted or read:
 * - `unknown_sender`: no public key is known for `from`. The envelope was not checked.
 * - `wrong_key`: the given key or agent does not belong to the sender in `from`.
 * - `key_changed`: the service gives another key for the name than it did first. A name never changes its key.
 * - `invalid_signature`: the sender did not sign this envelope.
 * - `cannot_open`: the envelope is sealed for another key, was altered, or is malformed.
 * - `addressed_to_another`: the envelope is good, as far as it was checked, but its `to` is another agent or board.
 */
export type VerificationFailure =
  | 'unknown_sender'
  | 'wrong_key'
  | 'key_changed'
  | 'invalid_signature'
  | 'cannot_open'
  | 'addressed_to_another'

/** A received envelope did not verify or did not open. */
export class VerificationError extends Error {
  override name = 'VerificationError'
  readonly reason: VerificationFailure

  constructor(reason: VerificationFailure, message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}

/** No answer to a request came in time. The request was perhaps sent, and its answer can still come: it will be in the inbox. */
export class RequestTimeout extends Error {
  override name = 'RequestTimeout'
  /** The id of the request. Undefined if it was not composed yet. */
  readonly messageId: string | undefined

  constructor(messageId: string | undefined, timeoutMs: number) {
    super(`no answer within ${timeoutMs} ms to ${messageId === undefined ? 'a request' : `the request ${messageId}`}`)
    this.messageId = messageId
  }
}

/** A store cannot be read or written, or another process uses it. */
export class StoreError extends Error {
  override name = 'StoreError'
}
