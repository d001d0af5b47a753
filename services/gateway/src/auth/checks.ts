/**
 * The checks of a request signature, one function for each, in the order of spec 3.5: header syntax, timestamp, signer known,
 * signature, signer not revoked and not suspended, nonce. The numbers are those of spec 3.5. pipeline.ts calls these functions; the
 * operation itself checks route, query and body afterwards.
 */
import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { CallContext } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import { admitRequest } from '@svc/contracts/identity.ts'
import { LIMITS } from '@svc/contracts/limits.ts'
import type { Bus } from '@svc/nats/bus.ts'
import { agentIdOf } from '@svc/svc1/agent-id.ts'
import {
  AUTHORIZATION_HEADER,
  NONCE_HEADER,
  parseAuthorization,
  parseNonce,
  parseTimestamp,
  TIMESTAMP_HEADER,
} from '@svc/svc1/headers.ts'
import { importPublicKey, parsePublicKeyNode, type VerifyKey } from '@svc/svc1/node/verify-node.ts'
import { EMPTY_BODY_SHA256, signedString } from '@svc/svc1/signed-string.ts'
import { parseJsonBody, type RequestBody } from '../http/body.ts'
import { isRepeated } from '../http/headers.ts'
import type { Directory } from './directory.ts'
import { malformedSignature, type SignedRequest, suspendedSigner, wrongKeyOfBody, wrongSignature } from './faults.ts'
import type { Verifier } from './verifier.ts'

/** The parsed contents of the three headers of a signed request. */
export interface Credentials {
  readonly agentId: string
  /** 64 bytes. */
  readonly signature: Uint8Array
  /** As sent, because the signature covers it in that form. */
  readonly timestamp: string
  readonly timestampSeconds: number
  /** As sent. The signature covers the case, but two nonces that differ only in case are the same nonce (spec 3.7). */
  readonly nonce: string
}

/**
 * 4. Header syntax. A caller without an Authorization header is anonymous, even if it sends X-SVC-Timestamp or X-SVC-Nonce.
 * @throws ServiceError `unauthenticated`: wrong scheme or syntax, or an authentication header that is missing or repeated.
 */
export function readCredentials(request: IncomingMessage): Credentials | undefined {
  const { headers, rawHeaders } = request
  const authorization = headers[AUTHORIZATION_HEADER]
  if (authorization === undefined) return undefined
  const timestamp = headers[TIMESTAMP_HEADER]
  const nonce = headers[NONCE_HEADER]
  // Node joins repeated values of the last two headers, which then fail to parse below. Of several Authorization headers it
  // silently keeps the first, so check for those here.
  if (isRepeated(rawHeaders, AUTHORIZATION_HEADER)) throw malformedSignature(request)
  if (typeof timestamp !== 'string' || typeof nonce !== 'string') throw malformedSignature(request)
  const parsed = parseAuthorization(authorization)
  const timestampSeconds = parseTimestamp(timestamp)
  if (parsed === undefined || timestampSeconds === undefined || parseNonce(nonce) === undefined) {
    throw malformedSignature(request)
  }
  return { ...parsed, timestamp, timestampSeconds, nonce }
}

/** 5. Timestamp. @throws ServiceError `timestamp_out_of_range`: more than 60 seconds from this server's clock, either way. */
export function checkTimestamp({ timestampSeconds }: Credentials, nowMs: number): void {
  const distanceSeconds = Math.abs(Math.floor(nowMs / 1000) - timestampSeconds)
  if (distanceSeconds > LIMITS.httpToleranceSeconds) throw new ServiceError('timestamp_out_of_range')
}

/** 6. Signer known. @throws ServiceError `signer_unknown`. */
export async function getSignerKey(
  directory: Directory,
  { agentId }: Credentials,
  context: CallContext,
): Promise<VerifyKey> {
  const key = await directory.findKey(agentId, context)
  if (key === undefined) throw new ServiceError('signer_unknown')
  return key
}

const KEY_MEMBERS: ReadonlySet<string> = new Set(['pubkey'])

/**
 * 6, for a key that may not be registered yet. The key is the body's `pubkey`, and the header's agent id must be the id of that
 * key. If the body has no valid key, the signature cannot be verified, so the fault of the body is the answer.
 * @throws ServiceError `unsupported_media_type`, `invalid_json`, `invalid_request`, `invalid_pubkey`, `signature_invalid`.
 */
export function getKeyOfBody({ agentId }: Credentials, body: RequestBody): VerifyKey {
  const { value } = parseJsonBody(body, KEY_MEMBERS)
  const text = typeof value === 'object' && value !== null && !Array.isArray(value) ? value.pubkey : undefined
  if (typeof text !== 'string') throw new ServiceError('invalid_request', { detail: 'the body has no pubkey' })
  const publicKey = parsePublicKeyNode(text)
  if (publicKey === undefined) throw new ServiceError('invalid_pubkey')
  if (agentIdOf(publicKey) !== agentId) throw wrongKeyOfBody()
  return importPublicKey(publicKey)
}

/** 7. Signature. @throws ServiceError `signature_invalid`. */
export async function checkSignature(
  verifier: Verifier,
  key: VerifyKey,
  credentials: Credentials,
  request: SignedRequest,
): Promise<void> {
  const { authority, method, target, body } = request
  const bodySha256Hex = body.length === 0 ? EMPTY_BODY_SHA256 : hash('sha256', body, 'hex')
  const { timestamp, nonce } = credentials
  // Node reads a request line as latin1, so these characters are the bytes on the wire. The configured authority is ASCII.
  const signed = signedString({ authority, method, target, timestamp, nonce, bodySha256Hex })
  if (!(await verifier.verify(credentials.signature, signed, key))) throw wrongSignature(request)
}

/**
 * 8 and 9. Signer not revoked and not suspended, and nonce. From here on the nonce is consumed, even if the request fails later
 * (spec 3.7).
 * @throws ServiceError `signer_unknown` (erased, but its key is still cached here), `signer_revoked`, `forbidden`,
 *   `nonce_replayed`, in this order.
 */
export async function admit(
  bus: Bus,
  { agentId, nonce }: Credentials,
  { allowRevoked }: { readonly allowRevoked: boolean },
  context: CallContext,
): Promise<void> {
  const request = { agent_id: agentId, nonce: nonce.toLowerCase() }
  const { erased, revoked, suspended, replayed } = await bus.call(admitRequest, request, context)
  if (erased && !allowRevoked) throw new ServiceError('signer_unknown')
  if (revoked && !allowRevoked) throw new ServiceError('signer_revoked')
  if (suspended !== undefined) throw suspendedSigner(suspended)
  if (replayed) throw new ServiceError('nonce_replayed')
}
