/**
 * The texts of errors for refused signatures and signers (spec 4.1: for people, and free to change). They say what the server saw, because a
 * mistake in one of the seven signed lines is otherwise hard to find. The texts contain no values of headers.
 */
import type { IncomingMessage } from 'node:http'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { Suspension } from '@svc/contracts/suspension.ts'
import {
  AUTHORIZATION_HEADER,
  NONCE_HEADER,
  parseAuthorization,
  parseNonce,
  parseTimestamp,
  TIMESTAMP_HEADER,
} from '@svc/svc1/headers.ts'
import { isRepeated } from '../http/headers.ts'

/** The parts of a request that the signature covers, besides the contents of the headers. */
export interface SignedRequest {
  readonly authority: string
  readonly method: string
  /** Path and query, exactly as in the request line. */
  readonly target: string
  readonly body: Buffer
}

/** `signature_invalid`, with what the server signed over. */
export function wrongSignature({ authority, method, target, body }: SignedRequest): ServiceError {
  const bytes = body.length === 0 ? 'no body' : `a body of ${count(body.length, 'byte')}`
  return new ServiceError('signature_invalid', {
    detail: `the signature does not match the key and these parts: the authority of this service, ${authority}; method ${method}; path and query ${shown(target)}; ${bytes}; and the sent timestamp and nonce`,
  })
}

/** `signature_invalid` for a key in the body (spec 3.8). */
export function wrongKeyOfBody(): ServiceError {
  return new ServiceError('signature_invalid', {
    detail: 'the agent id in Authorization is not the id of the pubkey in the body',
  })
}

/** `unauthenticated` for a request without Authorization to an operation that needs a signature. */
export function missingSignature({ headers }: IncomingMessage): ServiceError {
  const others = [TIMESTAMP_HEADER, NONCE_HEADER].filter((name) => headers[name] !== undefined).map(spelled)
  return unauthenticated(
    others.length === 0
      ? 'this operation must be signed, and no Authorization header arrived'
      : `this operation must be signed, and ${others.join(' and ')} arrived without Authorization: a proxy may have removed it`,
  )
}

/** `unauthenticated` for authentication headers of which at least one is missing, repeated or malformed. */
export function malformedSignature({ headers, rawHeaders }: IncomingMessage): ServiceError {
  for (const name of [AUTHORIZATION_HEADER, TIMESTAMP_HEADER, NONCE_HEADER]) {
    if (headers[name] === undefined) return unauthenticated(`${spelled(name)} is missing: a proxy may have removed it`)
    if (isRepeated(rawHeaders, name)) return unauthenticated(`${spelled(name)} must be sent only once`)
  }
  const [authorization, timestamp, nonce] = [AUTHORIZATION_HEADER, TIMESTAMP_HEADER, NONCE_HEADER].map((name) =>
    String(headers[name]),
  )
  if (!authorization?.startsWith('SVC ')) return unauthenticated('Authorization must have the scheme SVC')
  if (parseAuthorization(authorization) === undefined)
    return unauthenticated('Authorization must be SVC <agent id>:<64 bytes in padded base64>')
  if (timestamp === undefined || parseTimestamp(timestamp) === undefined)
    return unauthenticated('X-SVC-Timestamp must be whole Unix seconds')
  if (nonce === undefined || parseNonce(nonce) === undefined)
    return unauthenticated('X-SVC-Nonce must be an even number of hex digits, 32 to 128')
  return new ServiceError('unauthenticated')
}

function unauthenticated(detail: string): ServiceError {
  return new ServiceError('unauthenticated', { detail })
}

/** `forbidden` for a signer that an operator has suspended (spec 12.4). */
export function suspendedSigner({ until }: Suspension): ServiceError {
  const end = until === null ? 'without a set end' : `until ${new Date(until * 1_000).toISOString().slice(0, 19)}Z`
  return new ServiceError('forbidden', { detail: `the operator of this service has suspended this agent ${end}` })
}

const SPELLED: Readonly<Record<string, string>> = {
  [AUTHORIZATION_HEADER]: 'Authorization',
  [TIMESTAMP_HEADER]: 'X-SVC-Timestamp',
  [NONCE_HEADER]: 'X-SVC-Nonce',
}

function spelled(name: string): string {
  return SPELLED[name] ?? name
}

const TARGET_MAX = 160

/** A target for a message: bounded, and printable ASCII without quotes. Other bytes are escaped, as Node read them (latin1). */
function shown(target: string): string {
  const cut = target.slice(0, TARGET_MAX)
  const safe = cut.replaceAll(/[^!#-&(-[\]-~]/g, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`)
  return target.length > TARGET_MAX ? `${safe}… (${count(target.length, 'byte')})` : safe
}

function count(n: number, unit: string): string {
  return `${n} ${unit}${n === 1 ? '' : 's'}`
}
