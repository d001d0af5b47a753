import type { IncomingMessage } from 'node:http'
import type { CallContext } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { Bus } from '@svc/nats/bus.ts'
import type { Answer } from './answer.ts'
import {
  admit,
  type Credentials,
  checkSignature,
  checkTimestamp,
  getKeyOfBody,
  getSignerKey,
  readCredentials,
} from './auth.ts'
import { type RequestBody, readBody } from './body.ts'
import type { Clients } from './client.ts'
import { MAX_HEADERS } from './connections.ts'
import type { Directory } from './directory.ts'
import { isRepeated } from './headers.ts'
import { kindOf, type Load, type Slot } from './load.ts'
import type { Operation, RawInput } from './operation.ts'
import type { RateLimiter } from './rate-limit.ts'
import { createStrangers } from './strangers.ts'
import type { Verifier } from './verifier.ts'

export interface PipelineDeps {
  readonly bus: Bus
  readonly directory: Directory
  readonly verifier: Verifier
  /** The public authority: the second line of what is signed. */
  readonly authority: string
  /** Of all requests, and of challenges and registrations. */
  readonly limiter: RateLimiter
  readonly registrationLimiter: RateLimiter
  readonly load: Load
  readonly clients: Clients
}

/** One request, and the operation that its method and path name. */
export interface Incoming {
  readonly raw: IncomingMessage
  readonly traceparent: string
  readonly operation: Operation
  readonly params: Readonly<Record<string, string>>
}

interface VerifyInput extends Pick<Incoming, 'raw' | 'operation'> {
  readonly input: RawInput
  readonly context: CallContext
}

export type Pipeline = (incoming: Incoming) => Promise<Answer>

/**
 * How long the services may take together. A client has its answer within 5 s of sending its request (spec 3.17),
 * so this leaves half a second for what is around them.
 */
const DEADLINE_MS = 4_500

/** Nobody's nonce is consumed. */
const ANONYMOUS = Promise.resolve()

/**
 * Every request, top to bottom; unknown paths too. The order is that of spec 3.5: 413 before anything, then the signature,
 * then the nonce, and only then body and route.
 */
export function createPipeline(deps: PipelineDeps): Pipeline {
  const { clients, load } = deps
  const strangers = createStrangers()
  return async (incoming) => {
    const { raw, operation } = incoming
    const client = clients.ofRequest(raw)
    const retryAfterSeconds = takeFromRates(deps, client, operation)
    checkRate(typeof retryAfterSeconds === 'number' ? retryAfterSeconds : await retryAfterSeconds)
    checkHead(raw)
    const slot: Slot = {
      kind: kindOf(operation, raw.headers),
      isUnsigned: strangers.isUnsigned(raw, operation, client),
      forwardedFor: clients.isForwarded(raw) ? client : undefined,
    }
    load.check(slot)
    using body = await readBody(raw, load)
    // Reset because too much was asked for on it (connections.ts).
    if (raw.socket.destroyed) throw new ServiceError('invalid_request', { detail: 'the connection broke' })
    // A client that sends slowly takes nobody's place while it does.
    load.begin(slot)
    try {
      return await answer(incoming, body)
    } catch (error) {
      strangers.note(error, raw, client)
      throw error
    } finally {
      load.end(slot)
    }
  }

  async function answer({ raw, traceparent, operation, params }: Incoming, body: RequestBody): Promise<Answer> {
    const input = { params, target: pathAndQuery(raw), headers: raw.headers, body }
    const context: CallContext = { traceparent, deadlineMs: Date.now() + DEADLINE_MS }
    const signer = await verifySigner(deps, { raw, operation, input, context })
    if (signer === null) return operation.prepare(input)(null, context, ANONYMOUS)

    // While identity consumes the nonce, durably, the operation begins; what identity says of the nonce still comes first.
    const admitted = admit(deps.bus, signer, operation, context)
    admitted.catch(() => {}) // `finally` throws it; until then it may have no other handler
    try {
      return await operation.prepare(input)(signer.agentId, context, admitted)
    } finally {
      await admitted
    }
  }
}

/** @returns 0 where the request is admitted, else seconds to wait; a promise where another gateway is asked (rate-limit.ts). */
function takeFromRates(deps: PipelineDeps, client: string, operation: Operation): number | Promise<number> {
  const first = deps.limiter.take(client)
  if (!operation.isRegistration) return first
  const second = (retryAfterSeconds: number): number | Promise<number> =>
    retryAfterSeconds || deps.registrationLimiter.take(client)
  return typeof first === 'number' ? second(first) : first.then(second)
}

/** @throws ServiceError `rate_limited`, before anything is spent on the request (spec 3.15). */
function checkRate(retryAfterSeconds: number): void {
  if (retryAfterSeconds > 0) throw new ServiceError('rate_limited', { retryAfterSeconds })
}

/** RFC 9112, 3.2: a request has one Host header; one of HTTP/1.0 may have none. */
function checkHead({ headers, rawHeaders, httpVersion }: IncomingMessage): void {
  if (rawHeaders.length >= 2 * MAX_HEADERS) {
    throw new ServiceError('invalid_request', { detail: `a request has fewer than ${MAX_HEADERS} headers` })
  }
  if (headers.host === undefined ? httpVersion !== '1.0' : isRepeated(rawHeaders, 'host')) {
    throw new ServiceError('invalid_request', { detail: 'a request has one Host header' })
  }
}

/** Steps 4 to 7 of spec 3.5, from header syntax to signature. Null for an anonymous caller, where the operation allows one. */
async function verifySigner(
  { directory, verifier, authority }: PipelineDeps,
  { raw, operation, input, context }: VerifyInput,
): Promise<Credentials | null> {
  const credentials = readCredentials(raw)
  if (credentials === undefined) {
    if (operation.auth === 'required') throw new ServiceError('unauthenticated')
    return null
  }
  checkTimestamp(credentials, Date.now())
  const key =
    operation.keyFrom === 'body'
      ? getKeyOfBody(credentials, input.body)
      : await getSignerKey(directory, credentials, context)
  await checkSignature(verifier, key, credentials, {
    authority,
    method: raw.method ?? '',
    target: input.target,
    body: input.body.bytes,
  })
  return credentials
}

const SCHEME_AND_AUTHORITY = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#]*/

/**
 * The path and query of a request line, exactly as sent. What a forward proxy was sent has scheme and authority before
 * them (absolute-form; RFC 9112, 3.2.2), which are not part of what is signed.
 */
function pathAndQuery({ url = '' }: IncomingMessage): string {
  if (url.startsWith('/')) return url
  const rest = url.replace(SCHEME_AND_AUTHORITY, '')
  return rest === '' || rest.startsWith('?') ? `/${rest}` : rest
}
