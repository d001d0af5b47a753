import type { IncomingMessage } from 'node:http'
import type { CallContext } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { Bus } from '@svc/nats/bus.ts'
import { kindOf, type Operation, type RawInput, type Work } from './api/operation.ts'
import { admit } from './auth/checks.ts'
import { createStrangers } from './auth/strangers.ts'
import { type VerifyDeps, verifySigner } from './auth/verify-signer.ts'
import type { Answer } from './http/answer.ts'
import { type Bodies, isLarge, type RequestBody } from './http/body.ts'
import type { Clients } from './http/connections/client.ts'
import { MAX_HEADERS } from './http/connections/server-limits.ts'
import { isRepeated } from './http/headers.ts'
import { BulkTurns, LARGE_BODIES } from './http/load/bulk-turns.ts'
import type { Load, Slot } from './http/load/load.ts'
import type { RateLimiter } from './rates/rate-limit.ts'

interface PipelineDeps extends VerifyDeps {
  readonly bus: Bus
  /** Counts all requests. */
  readonly limiter: RateLimiter
  /** Counts challenges and registrations, in addition to `limiter`. */
  readonly registrationLimiter: RateLimiter
  readonly load: Load
  readonly bodies: Bodies
  readonly clients: Clients
}

/** One request, and the operation that its method and path select. */
interface Incoming {
  readonly raw: IncomingMessage
  readonly traceparent: string
  readonly operation: Operation
  readonly params: Readonly<Record<string, string>>
}

/** Where a request comes from, before its signature is verified. */
interface Sender {
  /** Its address. */
  readonly client: string
  readonly isUnsigned: boolean
}

/** A request whose signature is right, and what it asks for. */
interface Checked {
  /** The agent, or null for an anonymous request. */
  readonly signer: string | null
  /** Fulfilled when identity has consumed the nonce. */
  readonly admitted: Promise<void>
  readonly work: Work
  /** Whether the work waits for its turn. */
  readonly isBulk: boolean
}

export type Pipeline = (incoming: Incoming) => Promise<Answer>

/**
 * How long all service calls of one request may take together. A client gets its answer within 5 s of sending its
 * request (spec 3.17), so half a second remains for the gateway and the network.
 */
const DEADLINE_MS = 4_500

/** An anonymous request has no nonce to consume. */
const ANONYMOUS = Promise.resolve()

/**
 * Handles every request from start to end, unknown paths included. The order is that of spec 3.5: rate limits (429), number of
 * headers and Host (400), size of the body (413), signature, revocation, nonce, and only then route, query and content of
 * the body.
 */
export function createPipeline(deps: PipelineDeps): Pipeline {
  const pipeline = new RequestPipeline(deps)
  return (incoming) => pipeline.answerRequest(incoming)
}

class RequestPipeline {
  readonly #deps: PipelineDeps
  readonly #strangers = createStrangers()
  readonly #bulkReads = new BulkTurns()
  readonly #largeBodies = new BulkTurns(LARGE_BODIES)

  constructor(deps: PipelineDeps) {
    this.#deps = deps
  }

  /** Load is checked twice, because a body may take seconds to arrive (503). A request holds a slot only from then on. */
  async answerRequest(incoming: Incoming): Promise<Answer> {
    const { clients, load, bodies } = this.#deps
    const { raw, operation } = incoming
    const client = clients.ofRequest(raw)
    const isUnsigned = this.#strangers.isUnsigned(raw, operation, client)
    const slot: Slot = { kind: kindOf(operation, raw.headers), client, isUnsigned }
    // Most requests need not wait for another gateway, and do not leave this tick of the event loop.
    const retryAfterSeconds = takeFromRates(this.#deps, client, operation)
    checkRate(typeof retryAfterSeconds === 'number' ? retryAfterSeconds : await retryAfterSeconds)
    checkHead(raw)
    load.checkRoom(slot)
    const body = await bodies.read(raw)
    checkConnected(raw)
    load.beginRequest(slot)
    try {
      return await this.#answerBody(incoming, body, { client, isUnsigned })
    } catch (error) {
      this.#strangers.note(error, raw, client)
      throw error
    } finally {
      load.endRequest(slot)
    }
  }

  /** Verifies and parses a large body when it is the turn of its address, because its signature is not verified yet. */
  async #answerBody(incoming: Incoming, body: RequestBody, sender: Sender): Promise<Answer> {
    const context: CallContext = { traceparent: incoming.traceparent, deadlineMs: Date.now() + DEADLINE_MS }
    const checkIt = (): Promise<Checked> => check(this.#deps, incoming, body, context)
    const checked = isLarge(body)
      ? await this.#largeBodies.readInTurn({ operation: 'body', ...sender }, () => {
          checkConnected(incoming.raw)
          return checkIt()
        })
      : await checkIt()
    return this.#answerChecked(incoming, checked, sender, context)
  }

  /**
   * Does the work while identity consumes the nonce. Bulk work waits for the nonce, and then for the turn of its agent. An error
   * from identity takes precedence over an error of the work, except over a bug, which must reach the log.
   */
  async #answerChecked(
    { raw, operation }: Incoming,
    { signer, admitted, work, isBulk }: Checked,
    { client }: Sender,
    context: CallContext,
  ): Promise<Answer> {
    try {
      if (!isBulk) {
        const answer = await work(signer, context, admitted)
        await admitted
        return answer
      }
      await admitted
      const reader = { operation: operation.id, client: signer ?? client, isUnsigned: signer === null }
      return await this.#bulkReads.readInTurn(reader, () => {
        checkConnected(raw)
        return work(signer, context, admitted)
      })
    } catch (error) {
      const refusal: unknown = await admitted.then(
        () => undefined,
        (reason) => reason,
      )
      throw error instanceof ServiceError ? (refusal ?? error) : error
    }
  }
}

/**
 * Makes all checks from the signature to the content of the body. For a large body, they take most of the CPU time that
 * the request costs this process.
 */
async function check(
  deps: PipelineDeps,
  { raw, operation, params }: Incoming,
  body: RequestBody,
  context: CallContext,
): Promise<Checked> {
  const input: RawInput = {
    params,
    target: pathAndQuery(raw),
    headers: raw.headers,
    body,
    clientAddress: () => deps.clients.addressOf(raw),
  }
  const signer = await verifySigner(deps, { raw, operation, input }, context)
  const admitted = signer === null ? ANONYMOUS : admit(deps.bus, signer, operation, context)
  admitted.catch(() => {}) // awaited by the caller; until then a rejection might have no handler
  return { signer: signer?.agentId ?? null, admitted, ...prepare(operation, input) }
}

/**
 * @returns the work. If the request has a fault, the work throws it when it runs, because an error from identity takes
 * precedence.
 */
function prepare(operation: Operation, input: RawInput): Pick<Checked, 'work' | 'isBulk'> {
  try {
    return { work: operation.prepare(input), isBulk: operation.isBulk }
  } catch (error) {
    return { work: () => Promise.reject(error), isBulk: false }
  }
}

/** @throws ServiceError for a client that is gone, so that nothing is spent on its request any more. */
function checkConnected({ socket }: IncomingMessage): void {
  if (socket.destroyed) throw new ServiceError('invalid_request', { detail: 'the connection broke' })
}

/**
 * @returns 0 if the request is admitted, else the seconds to wait; a promise if another gateway must be asked
 * (rate-limit.ts).
 */
function takeFromRates(deps: PipelineDeps, client: string, operation: Operation): number | Promise<number> {
  const first = deps.limiter.takeRequest(client)
  if (!operation.isRegistration) return first
  const second = (retryAfterSeconds: number): number | Promise<number> =>
    retryAfterSeconds || deps.registrationLimiter.takeRequest(client)
  return typeof first === 'number' ? second(first) : first.then(second)
}

/** @throws ServiceError `rate_limited`, before the request costs anything (spec 3.15). */
function checkRate(retryAfterSeconds: number): void {
  if (retryAfterSeconds > 0) throw new ServiceError('rate_limited', { retryAfterSeconds })
}

/** A request has exactly one Host header, except that an HTTP/1.0 request may have none (RFC 9112, 3.2). */
function checkHead({ headers, rawHeaders, httpVersion }: IncomingMessage): void {
  if (rawHeaders.length >= 2 * MAX_HEADERS) {
    throw new ServiceError('invalid_request', { detail: `a request must have fewer than ${MAX_HEADERS} headers` })
  }
  if (headers.host === undefined ? httpVersion !== '1.0' : isRepeated(rawHeaders, 'host')) {
    throw new ServiceError('invalid_request', { detail: 'a request must have exactly one Host header' })
  }
}

const SCHEME_AND_AUTHORITY = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#]*/

/**
 * The path and query of a request line, exactly as sent. A request line meant for a forward proxy also has scheme and
 * authority (absolute-form; RFC 9112, 3.2.2). The signature does not cover that prefix, so it is removed here.
 */
function pathAndQuery({ url = '' }: IncomingMessage): string {
  if (url.startsWith('/')) return url
  const rest = url.replace(SCHEME_AND_AUTHORITY, '')
  return rest === '' || rest.startsWith('?') ? `/${rest}` : rest
}
