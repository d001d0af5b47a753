/**
 * Every code that a client can see, with its HTTP status and its text (spec 4.1, 4.3). If several causes share a code, the
 * text deliberately does not distinguish them.
 */
export const ERRORS = {
  invalid_json: { status: 400, message: 'the body is not I-JSON (RFC 7493)' },
  invalid_request: { status: 400, message: 'the request does not have the form that this operation expects' },
  invalid_envelope: { status: 400, message: 'the envelope is malformed' },
  invalid_pubkey: { status: 400, message: 'pubkey must be ed25519:<64 hex digits> of a canonical key of prime order' },
  invalid_name: {
    status: 400,
    message: 'a name has 3 to 32 characters of a-z, 0-9, _ and -, and starts with a letter or digit',
  },
  invalid_reference: {
    status: 400,
    message: 'reply_to and thread_id must name live messages of the same conversation, thread_id a root',
  },
  invalid_cursor: { status: 400, message: 'the cursor was not issued by this list' },
  invalid_webhook_url: { status: 400, message: 'a webhook URL must be public HTTPS on port 443' },
  challenge_invalid: {
    status: 400,
    message: 'the challenge is malformed, expired, for another key or from another service',
  },
  pow_invalid: { status: 400, message: 'the nonce does not give the leading zero bits that the challenge requires' },
  envelope_timestamp_out_of_range: {
    status: 400,
    message: 'ts must be at most 5 minutes in the past and 1 minute ahead of the server',
  },
  expired: { status: 400, message: 'the message has expired: ts plus ttl must be in the future' },
  recipient_not_local: { status: 400, message: 'the recipient belongs to another authority than this service' },
  confirmation_mismatch: { status: 400, message: 'confirm_agent_id must be the id of the caller' },
  unauthenticated: { status: 401, message: 'this operation needs a well-formed SVC1 signature' },
  timestamp_out_of_range: {
    status: 401,
    message: 'X-SVC-Timestamp differs from the server time by more than 60 seconds',
  },
  signer_unknown: { status: 401, message: 'no identity with this agent id is registered' },
  signer_revoked: { status: 401, message: 'the identity was revoked' },
  signature_invalid: { status: 401, message: 'the signature does not match the request and the key' },
  forbidden: { status: 403, message: 'the caller may not do this' },
  sender_mismatch: { status: 403, message: 'from must be the agent id or the address of the signer' },
  admission_denied: { status: 403, message: 'the recipient does not accept this message' },
  own_post: { status: 403, message: 'you cannot vote on your own post' },
  not_found: { status: 404, message: 'there is nothing here, or not for this caller' },
  recipient_unavailable: { status: 404, message: 'no active identity has this address' },
  nonce_replayed: { status: 409, message: 'the nonce was used before; sign again with a new one' },
  id_conflict: { status: 409, message: 'the id was used for another envelope' },
  name_taken: { status: 409, message: 'the name belongs to another key' },
  key_registered: { status: 409, message: 'the key is registered under another name' },
  challenge_consumed: { status: 409, message: 'the challenge was used before; ask for a new one' },
  request_pending: { status: 409, message: 'an earlier message to this recipient is still a pending request' },
  board_limit: { status: 409, message: 'an agent can own at most 20 boards' },
  membership_limit: { status: 409, message: 'a board can have at most 100 membership records' },
  owner_role: { status: 409, message: 'the role of a board owner cannot change' },
  agent_revoked: { status: 409, message: 'the identity was revoked' },
  body_too_large: { status: 413, message: 'a request body can have at most 96 KiB' },
  message_too_large: { status: 413, message: 'the payload exceeds the limit for its kind of message' },
  unsupported_media_type: { status: 415, message: 'the content type of a body must be application/json' },
  rate_limited: { status: 429, message: 'too many requests from this address' },
  budget_exhausted: { status: 429, message: 'free units and credits do not cover the cost' },
  hard_limit_reached: { status: 429, message: 'the cost would exceed the ceiling of units for today' },
  introduction_limit_reached: { status: 429, message: 'no first contacts are left for today' },
  stream_limit: { status: 429, message: 'an agent can have at most two open streams' },
  stream_capacity: { status: 429, message: 'no stream process has room; try again later' },
  internal: { status: 500, message: 'the server failed; find the cause in its log by the request id' },
  unavailable: { status: 503, message: 'the service is unavailable; repeat the request with the same message id' },
} as const

export type ErrorCode = keyof typeof ERRORS

/** The codes that are not the caller's fault. */
export const FAULTS = ['internal', 'unavailable'] as const satisfies readonly ErrorCode[]

export interface ServiceErrorOptions extends ErrorOptions {
  /** Says what is wrong with the caller's own input, e.g. which member. Replaces the general text. Must never contain private data. */
  detail?: string
  /** Whole seconds for the `Retry-After` header. Every 429 has one (spec 4.2). */
  retryAfterSeconds?: number
}

/** The parts of a ServiceError that are sent over NATS. */
export interface ServiceErrorData {
  code: ErrorCode
  detail?: string
  retryAfterSeconds?: number
}

/** An error that the caller can act on. Its data is sent over NATS and reaches the client, so it must not contain private data. */
export class ServiceError extends Error {
  override name = 'ServiceError'
  readonly code: ErrorCode
  readonly detail: string | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(code: ErrorCode, options: ServiceErrorOptions = {}) {
    super(options.detail ?? ERRORS[code].message, options)
    this.code = code
    this.detail = options.detail
    this.retryAfterSeconds = options.retryAfterSeconds
  }

  toData(): ServiceErrorData {
    return {
      code: this.code,
      ...(this.detail === undefined ? {} : { detail: this.detail }),
      ...(this.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: this.retryAfterSeconds }),
    }
  }

  /**
   * Restores an error that another process threw. An unknown code, from a newer peer, becomes `internal`. So does data of
   * another form, because a client sees the text, and `Retry-After` is a header.
   */
  static fromData(data: unknown): ServiceError {
    if (isErrorData(data)) {
      const { code, detail, retryAfterSeconds } = data
      return new ServiceError(code, {
        ...(detail === undefined ? {} : { detail }),
        ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
      })
    }
    return new ServiceError('internal', {
      cause: new Error('another process answered with an error of an unknown form or code'),
    })
  }
}

function isErrorData(data: unknown): data is ServiceErrorData {
  if (typeof data !== 'object' || data === null) return false
  const { code, detail, retryAfterSeconds }: Partial<Record<keyof ServiceErrorData, unknown>> = data
  return (
    typeof code === 'string' &&
    Object.hasOwn(ERRORS, code) &&
    (detail === undefined || typeof detail === 'string') &&
    (retryAfterSeconds === undefined || (Number.isSafeInteger(retryAfterSeconds) && Number(retryAfterSeconds) >= 0))
  )
}

/**
 * True if the operation certainly did not take effect. False after a lost connection or an unknown failure, because the
 * operation may have taken effect.
 */
export function isDefinite(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.code !== 'unavailable' && error.code !== 'internal'
}

/**
 * Makes a handler for `catch`, for callers that can continue without a service's answer. Replaces any ServiceError by
 * `instead`, and rethrows other errors, because those are bugs of this process.
 */
export function unlessFault<T>(instead: T): (error: unknown) => T {
  return (error) => {
    if (error instanceof ServiceError) return instead
    throw error
  }
}
