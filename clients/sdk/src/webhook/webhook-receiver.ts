/**
 * Receives webhooks on an HTTP server with Node's interface. It checks that the timestamp is fresh, detects duplicates by
 * delivery id and message id, and answers 2xx only after durable acceptance (spec 10.8).
 */
import type { Envelope } from '@svc/contracts/resources.ts'
import { VerificationError } from '../errors.ts'
import { parseAnswer } from '../http/answer-json.ts'
import { envelope as envelopeShape } from '../http/answers.ts'
import { assertAddressedTo } from '../messages/open.ts'
import { isSigned, readClaim, WebhookError, type WebhookHeaders } from './webhook-claim.ts'

export interface WebhookDelivery {
  /** Its sender is not verified here. `AgentClient.open` verifies it without trusting the service. */
  readonly envelope: Envelope
  readonly messageId: string
  /** All attempts of one delivery share this id. */
  readonly deliveryId: string
  /** The time of this attempt, in Unix seconds. */
  readonly timestamp: number
  /** The exact bytes of the envelope, with the values that its sender signed. */
  readonly body: Uint8Array
}

/** Remembers accepted deliveries. To survive a restart, store them together with your messages. */
export interface AcceptedDeliveries {
  has(id: string): boolean | Promise<boolean>
  add(id: string): unknown
}

export interface WebhookVerifyOptions {
  readonly secret: string
  /**
   * This agent's address, `<name>@<authority>`. A delivery to anybody else is refused, even if its signature is good (spec 13.5).
   * Without it, nothing compares `to` before `AgentClient.open` does.
   */
  readonly address?: string
  /** How far the timestamp may differ from this machine's clock. Default 300. */
  readonly toleranceSeconds?: number
  /** For tests. */
  readonly nowMs?: () => number
}

export interface WebhookHandlerOptions extends WebhookVerifyOptions {
  /** Called once per message. If it throws, the answer is 500 and the service retries. Otherwise the message is accepted. */
  readonly onMessage: (delivery: WebhookDelivery) => unknown
  /** Default: the last 10,000 ids in memory, so after a restart a message may be delivered again. */
  readonly accepted?: AcceptedDeliveries
}

/** The parts of `http.IncomingMessage` and `http.ServerResponse` that the handler uses. */
export interface WebhookRequest extends AsyncIterable<Uint8Array> {
  readonly method?: string | undefined
  readonly headers: WebhookHeaders
}
export interface WebhookResponse {
  statusCode: number
  end(): unknown
}

const DEFAULT_TOLERANCE_SECONDS = 300
const DEFAULT_REMEMBERED = 10_000
/** A request to the service has at most 96 KiB, so an envelope cannot be larger. */
const MAX_BODY_BYTES = 96 * 1024
const STATUS = {
  malformed: 400,
  signature_invalid: 401,
  timestamp_out_of_range: 401,
  addressed_to_another: 403,
} as const

/**
 * Verifies one request by its headers and exact body bytes: by `X-SVC-Signature`, or, without it, by the headers of Standard
 * Webhooks (spec 10.8). Does not detect duplicates.
 * @throws WebhookError if the request is refused.
 */
export async function verifyWebhook(
  headers: WebhookHeaders,
  body: Uint8Array,
  { secret, address, toleranceSeconds = DEFAULT_TOLERANCE_SECONDS, nowMs = Date.now }: WebhookVerifyOptions,
): Promise<WebhookDelivery> {
  const claim = readClaim(headers, secret)
  if (!(await isSigned(claim, body))) {
    throw new WebhookError('signature_invalid', 'the signature does not match the secret and the body')
  }
  const { deliveryId, timestamp } = claim
  if (Math.abs(timestamp - nowMs() / 1000) > toleranceSeconds) {
    throw new WebhookError(
      'timestamp_out_of_range',
      `the timestamp ${timestamp} is more than ${toleranceSeconds} s from this machine's clock`,
    )
  }
  const envelope = parseEnvelope(body)
  const messageId = claim.messageId ?? envelope.id
  if (envelope.id !== messageId) throw new WebhookError('malformed', 'x-svc-message-id is not the id of the envelope')
  if (address !== undefined) checkAddress(envelope, address)
  return { envelope, messageId, deliveryId, timestamp, body }
}

/**
 * A listener for `http.createServer`, `https.createServer`, or a route of a framework that has not read the body. Calls
 * `onMessage` once per message. A retry of an accepted message is answered 200. A retry that arrives while the message is
 * still being processed waits, and gets the same answer.
 */
export function createWebhookHandler({
  onMessage,
  accepted = rememberLast(DEFAULT_REMEMBERED),
  ...verify
}: WebhookHandlerOptions): (request: WebhookRequest, response: WebhookResponse) => Promise<void> {
  const underWay = new Map<string, Promise<number>>()

  return async (request, response) => {
    response.statusCode = await answer(request)
    response.end()
  }

  async function answer(request: WebhookRequest): Promise<number> {
    if (request.method !== 'POST') return 405
    try {
      const body = await readBody(request)
      if (body === undefined) return 413
      const delivery = await verifyWebhook(request.headers, body, verify)
      return await takeOnce(delivery)
    } catch (error) {
      return error instanceof WebhookError ? STATUS[error.kind] : 500
    }
  }

  /** Concurrent requests for one message share one call of `take`, so that none bypasses the duplicate check. */
  function takeOnce(delivery: WebhookDelivery): Promise<number> {
    const { messageId } = delivery
    const before = underWay.get(messageId)
    if (before !== undefined) return before
    const taking = take(delivery).finally(() => underWay.delete(messageId))
    underWay.set(messageId, taking)
    return taking
  }

  async function take(delivery: WebhookDelivery): Promise<number> {
    const { deliveryId, messageId } = delivery
    if ((await accepted.has(deliveryId)) || (await accepted.has(messageId))) return 200
    await onMessage(delivery)
    await accepted.add(messageId)
    await accepted.add(deliveryId)
    return 204
  }
}

function parseEnvelope(body: Uint8Array): Envelope {
  try {
    return envelopeShape(parseAnswer(new TextDecoder('utf-8', { fatal: true }).decode(body)), 'the envelope')
  } catch (cause) {
    throw new WebhookError('malformed', 'the body is not an envelope', { cause })
  }
}

function checkAddress(envelope: Envelope, address: string): void {
  try {
    assertAddressedTo(envelope, address)
  } catch (cause) {
    if (!(cause instanceof VerificationError)) throw cause
    throw new WebhookError('addressed_to_another', cause.message, { cause })
  }
}

/** @returns undefined if the body is longer than any envelope. It then stops reading. */
async function readBody(request: AsyncIterable<Uint8Array>): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of request) {
    length += chunk.length
    if (length > MAX_BODY_BYTES) return undefined
    chunks.push(chunk)
  }
  const body = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    body.set(chunk, at)
    at += chunk.length
  }
  return body
}

/** Remembers the last `count` ids. */
function rememberLast(count: number): AcceptedDeliveries {
  const ids = new Set<string>()
  return {
    has: (id) => ids.has(id),
    add(id) {
      ids.add(id)
      const [oldest] = ids
      if (ids.size > count && oldest !== undefined) ids.delete(oldest)
    },
  }
}
