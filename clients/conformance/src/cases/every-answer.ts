/** The rules that every answer keeps, whatever was asked (spec 3.14, 4.1, 4.2, 4.3). */
import type { Answer } from '../http/exchange.ts'

/** The status of each code (spec 4.3). */
const CODES: Readonly<Record<string, number>> = {
  invalid_json: 400,
  invalid_request: 400,
  invalid_envelope: 400,
  invalid_pubkey: 400,
  invalid_name: 400,
  invalid_reference: 400,
  invalid_cursor: 400,
  invalid_webhook_url: 400,
  challenge_invalid: 400,
  pow_invalid: 400,
  envelope_timestamp_out_of_range: 400,
  expired: 400,
  recipient_not_local: 400,
  confirmation_mismatch: 400,
  unauthenticated: 401,
  timestamp_out_of_range: 401,
  signer_unknown: 401,
  signer_revoked: 401,
  signature_invalid: 401,
  forbidden: 403,
  sender_mismatch: 403,
  admission_denied: 403,
  own_post: 403,
  not_found: 404,
  recipient_unavailable: 404,
  nonce_replayed: 409,
  id_conflict: 409,
  name_taken: 409,
  key_registered: 409,
  challenge_consumed: 409,
  request_pending: 409,
  board_limit: 409,
  membership_limit: 409,
  owner_role: 409,
  agent_revoked: 409,
  body_too_large: 413,
  message_too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
  budget_exhausted: 429,
  hard_limit_reached: 429,
  introduction_limit_reached: 429,
  stream_limit: 429,
  stream_capacity: 429,
  internal: 500,
  unavailable: 503,
}

/** @param method of the request: an answer to HEAD has no body. @returns what is wrong; undefined if nothing is. */
export function checkAnswer({ status, headers, text, body }: Answer, method = 'GET'): string | undefined {
  if (Number.isNaN(Date.parse(headers.get('date') ?? ''))) return 'the answer has no Date header (spec 3.14)'
  if (!/^\S+$/.test(headers.get('x-request-id') ?? '')) return 'the answer has no X-Request-Id header (spec 3.14)'
  const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true
  if (text !== '' && !isStream && !/^application\/json; *charset=utf-8$/i.test(headers.get('content-type') ?? ''))
    return `the Content-Type is ${headers.get('content-type')}: expected application/json; charset=utf-8 (spec 3.14)`
  const isHealth = status === 503 && body?.service !== undefined
  if (status < 400 || method === 'HEAD' || isHealth) return undefined
  const { code, message } = body?.error ?? {}
  const isExact =
    Object.keys(body ?? {}).join() === 'error' &&
    Object.keys(body.error ?? {})
      .sort()
      .join() === 'code,message'
  if (!isExact || typeof message !== 'string' || message === '')
    return `the body of an error has exactly error.code and error.message (spec 4.1), but is ${text.slice(0, 200)}`
  if (CODES[code] !== status)
    return `the code ${code} comes with status ${CODES[code] ?? 'none: it is unknown'}, not ${status} (spec 4.3)`
  if ((status === 429 || status === 503) && !/^[1-9]\d*$/.test(headers.get('retry-after') ?? ''))
    return `a ${status} has a Retry-After of whole seconds, at least 1 (spec 4.2), but it is ${headers.get('retry-after')}`
  return undefined
}
