/**
 * The checks of a request signature, one function each, in the order of spec 3.5: header syntax, timestamp, signer known,
 * signature, signer not revoked, nonce. pipeline.ts calls them; what follows, body and route, is an operation's own.
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
import { EMPTY_BODY_SHA256, signedString } from '@svc/svc1/signed-string.ts'
import { importPublicKey, parsePublicKeyNode, type VerifyKey } from '@svc/svc1/verify-node.ts'
import { parseJsonBody, type RequestBody } from './body.ts'
import type { Directory } from './directory.ts'
import { isRepeated } from './headers.ts'
import type { Verifier } from './verifier.ts'

/** What the three headers of a signed request say, in their right form. */
export interface Credentials {
  readonly agentId: string
  /** 64 bytes. */
  readonly signature: Uint8Array
  /** As sent, which is what was signed. */
  readonly timestamp: string
  readonly timestampSeconds: number
  /** As sent; its case is signed but does not tell nonces apart (spec 3.7). */
  readonly nonce: string
}

/**
 * 1. Header syntax. A caller without an Authorization header is anonymous, whatever else it sent: X-SVC-Timestamp and
 * X-SVC-Nonce alone claim nothing.
 * @throws ServiceError `unauthenticated`: another scheme or form, or an authentication header that is missing or sent twice.
 */
export function readCredentials({ headers, rawHeaders }: IncomingMessage): Credentials | undefined {
  const authorization = headers[AUTHORIZATION_HEADER]
  if (authorization === undefined) return undefined
  const timestamp = headers[TIMESTAMP_HEADER]
  const nonce = headers[NONCE_HEADER]
  // Node joins what came twice of the last two, which no form below allows, but keeps the first Authorization alone.
  if (isRepeated(rawHeaders, AUTHORIZATION_HEADER)) throw new ServiceError('unauthenticated')
  if (typeof timestamp !== 'string' || typeof nonce !== 'string') throw new ServiceError('unauthenticated')
  const parsed = parseAuthorization(authorization)
  const timestampSeconds = parseTimestamp(timestamp)
  if (parsed === undefined || timestampSeconds === undefined || parseNonce(nonce) === undefined) {
    throw new ServiceError('unauthenticated')
  }
  return { ...parsed, timestamp, timestampSeconds, nonce }
}

/** 2. Timestamp. @throws ServiceError `timestamp_out_of_range`: more than 60 seconds either way, by this server's clock. */
export function checkTimestamp({ timestampSeconds }: Credentials, nowMs: number): void {
  const distanceSeconds = Math.abs(Math.floor(nowMs / 1000) - timestampSeconds)
  if (distanceSeconds > LIMITS.httpToleranceSeconds) throw new ServiceError('timestamp_out_of_range')
}

/** 3. Signer known. @throws ServiceError `signer_unknown`. */
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
 * 3 for a key that may not be registered yet: the body's `pubkey`, and the header's agent id must be the id of it.
 * A body that names no key cannot be verified, so what is wrong with it comes first.
 * @throws ServiceError `unsupported_media_type`, `invalid_json`, `invalid_request`, `invalid_pubkey`, `signature_invalid`.
 */
export function getKeyOfBody({ agentId }: Credentials, body: RequestBody): VerifyKey {
  const { value } = parseJsonBody(body, KEY_MEMBERS)
  const text = typeof value === 'object' && value !== null && !Array.isArray(value) ? value.pubkey : undefined
  if (typeof text !== 'string') throw new ServiceError('invalid_request', { detail: 'the body has no pubkey' })
  const publicKey = parsePublicKeyNode(text)
  if (publicKey === undefined) throw new ServiceError('invalid_pubkey')
  if (agentIdOf(publicKey) !== agentId) throw new ServiceError('signature_invalid')
  return importPublicKey(publicKey)
}

/** What a signature covers besides what the headers say. */
export interface SignedRequest {
  readonly authority: string
  readonly method: string
  /** Path and query as they stood in the request line. */
  readonly target: string
  readonly body: Buffer
}

/** 4. Signature. @throws ServiceError `signature_invalid`. */
export async function checkSignature(
  verifier: Verifier,
  key: VerifyKey,
  credentials: Credentials,
  request: SignedRequest,
): Promise<void> {
  const { authority, method, target, body } = request
  const bodySha256Hex = body.length === 0 ? EMPTY_BODY_SHA256 : hash('sha256', body, 'hex')
  const { timestamp, nonce } = credentials
  // Node reads a request line as latin1, so this is what was on the wire; an authority is ASCII by configuration.
  const signed = signedString({ authority, method, target, timestamp, nonce, bodySha256Hex })
  if (!(await verifier.verify(credentials.signature, signed, key))) throw new ServiceError('signature_invalid')
}

/**
 * 5 and 6. Signer not revoked, and nonce, which is consumed from here on whatever comes of the request (spec 3.7).
 * @throws ServiceError `signer_revoked`, `nonce_replayed`, in this order.
 */
export async function admit(
  bus: Bus,
  { agentId, nonce }: Credentials,
  { allowRevoked }: { readonly allowRevoked: boolean },
  context: CallContext,
): Promise<void> {
  const request = { agent_id: agentId, nonce: nonce.toLowerCase() }
  const { revoked, replayed } = await bus.call(admitRequest, request, context)
  if (revoked && !allowRevoked) throw new ServiceError('signer_revoked')
  if (replayed) throw new ServiceError('nonce_replayed')
}
