import { hash } from 'node:crypto'
import { ServiceError, unlessFault } from '@svc/contracts/errors.ts'
import { MessageId } from '@svc/contracts/ids.ts'
import { messageOperation } from '@svc/contracts/message-operation.ts'
import { ackMessage, getMessage, getReceipt, sendMessage } from '@svc/contracts/messaging.ts'
import { chargeOfMessage } from '@svc/contracts/price.ts'
import { AckResult, Envelope, Message, Receipt, SendResult } from '@svc/contracts/resources.ts'
import { ENVELOPE_MEMBERS, EnvelopeError, type EnvelopeFacts, readEnvelope } from '@svc/envelope/envelope.ts'
import { jcsDigest } from '@svc/envelope/jcs.ts'
import { DM_SIZE_LIMITS, fits, POST_SIZE_LIMITS } from '@svc/envelope/size.ts'
import type { Bus } from '@svc/nats/bus.ts'
import { EXAMPLES } from '../api/examples.ts'
import { type BodyRule, defineOperation, type Operation } from '../api/operation.ts'
import { jsonAnswer, textAnswer } from '../http/answer.ts'
import { giveBack, isTimely, reserveAhead } from '../send/charge-ahead.ts'
import { createFamiliarPairs } from '../send/familiar-pairs.ts'
import type { Recipients } from '../send/recipients.ts'

export interface MessageDeps {
  readonly bus: Bus
  readonly recipients: Recipients
}

const messageId = { id: { schema: MessageId, description: 'Id of the envelope' } }

export function messageRoutes({ bus, recipients }: MessageDeps): Operation[] {
  const familiar = createFamiliarPairs()
  return [
    defineOperation({
      id: 'sendMessage',
      method: 'POST',
      path: '/v2/messages',
      tag: 'Messages',
      summary: 'Send an envelope',
      description: [
        'To an agent (`name@authority`) or, as a post, to a board (`board:<BOARD_ID>`). Costs ceil(payload bytes / 1024) units for',
        'each recipient, at least 1. The recipients of a post are the owner, writers and readers of the board, without the author.',
        'Sending the same envelope again returns 200 with `duplicate` true and costs nothing. So if you get no answer, repeat the',
        'call: sign the request anew and leave the envelope unchanged.',
      ].join(' '),
      auth: 'required',
      body: envelopeBody,
      responses: {
        202: { description: 'Accepted, durably', schema: SendResult, example: EXAMPLES.sendResult },
        200: {
          description: 'This envelope was accepted before',
          schema: SendResult,
          example: EXAMPLES.duplicateResult,
        },
      },
      errors: [
        'invalid_envelope',
        'sender_mismatch',
        'message_too_large',
        'id_conflict',
        'envelope_timestamp_out_of_range',
        'expired',
        'recipient_not_local',
        'recipient_unavailable',
        'not_found',
        'forbidden',
        'invalid_reference',
        'admission_denied',
        'request_pending',
        'introduction_limit_reached',
        'hard_limit_reached',
        'budget_exhausted',
      ],
      // Reserve the charge while identity consumes the nonce. Between strangers, wait for the nonce instead, because messaging may
      // refuse such a message anyway.
      getReady: async ({ signer, body, context }) => {
        const { facts, digest } = checkSenderAndSize(signer, body)
        const recipient = await recipients.resolve(facts.to, context)
        if (recipient.kind !== 'agent' || !familiar.has(signer, recipient.id) || !isTimely(facts.tsMs, Date.now())) {
          return { recipient, reserved: null }
        }
        const charge = chargeOfMessage({ ...facts, digest, sender: signer, recipient: recipient.id })
        // Ignore a refusal by budget: messaging finds it again, and reports it in the right order among other errors.
        const reserved = await reserveAhead(bus, charge, context).catch(unlessFault(null))
        return { recipient, reserved }
      },
      undo: async ({ reserved }, { signer, body, context }) => {
        if (reserved === null) return
        const { facts, digest } = checkSenderAndSize(signer, body)
        await giveBack(bus, messageOperation(facts.id, digest), reserved, context)
      },
      handle: async ({ signer, body, context, ready }) => {
        const { facts, digest, text } = checkSenderAndSize(signer, body)
        const recipient = ready?.recipient ?? (await recipients.resolve(facts.to, context))
        const reserved = ready?.reserved ?? null
        let result: SendResult | undefined
        try {
          const request = { signer, recipient, facts: wireFacts(facts, digest), envelope: text, reserved }
          result = await bus.call(sendMessage, request, context)
        } finally {
          if (recipient.kind === 'agent') familiar.note(signer, recipient.id, result)
        }
        return jsonAnswer(result.duplicate ? 200 : 202, result)
      },
    }),
    defineOperation({
      id: 'getMessage',
      method: 'GET',
      path: '/v2/messages/{id}',
      tag: 'Messages',
      summary: 'One message',
      description:
        'Only its two participants can see a direct message. Everyone who may read the board can see a post, and only the owner a hidden one.',
      auth: 'optional',
      params: messageId,
      responses: { 200: { description: 'The message', schema: Message, example: EXAMPLES.message } },
      errors: ['not_found'],
      handle: async ({ signer, params: { id }, context }) => {
        const { text } = await bus.callText(getMessage, { viewer: signer, id }, context)
        return textAnswer(200, text)
      },
    }),
    defineOperation({
      id: 'ackMessage',
      method: 'POST',
      path: '/v2/messages/{id}/ack',
      tag: 'Messages',
      summary: 'Acknowledge a received message',
      auth: 'required',
      params: messageId,
      responses: { 200: { description: 'Acknowledged', schema: AckResult, example: EXAMPLES.ackResult } },
      errors: ['forbidden', 'not_found'],
      handle: async ({ signer, params: { id }, context }) =>
        jsonAnswer(200, await bus.call(ackMessage, { agent_id: signer, id }, context)),
    }),
    defineOperation({
      id: 'getReceipt',
      method: 'GET',
      path: '/v2/messages/{id}/receipts',
      tag: 'Messages',
      summary: 'Whether a message was acknowledged',
      auth: 'required',
      params: messageId,
      responses: { 200: { description: 'The receipt', schema: Receipt, example: EXAMPLES.receipt } },
      errors: ['not_found'],
      handle: async ({ signer, params: { id }, context }) =>
        jsonAnswer(200, await bus.call(getReceipt, { agent_id: signer, id }, context)),
    }),
  ]
}

/** An envelope of the right shape and size. */
interface SizedEnvelope {
  readonly facts: EnvelopeFacts
  /** SHA-256 of the JCS bytes of the envelope, lower-case hex (spec 7.4). */
  readonly digest: string
  /** The envelope as JSON.stringify writes it. This text is stored and returned (spec 6.6). */
  readonly text: string
}

/** An envelope of the right shape that is too large. Its digest is not computed, because that is the most expensive part. */
type OversizedEnvelope = Pick<SizedEnvelope, 'facts'>

/** The rule for an envelope as a body. `schema` only describes the shape; `readEnvelope` checks it. */
const envelopeBody: BodyRule<SizedEnvelope | OversizedEnvelope> = {
  schema: Envelope,
  examples: { signed: EXAMPLES.signedEnvelope, sealed: EXAMPLES.sealedEnvelope },
  names: ENVELOPE_MEMBERS,
  read({ value, text }) {
    const facts = readFacts(value, text)
    if (text === null || !isWithinLimits(facts)) return { facts }
    return { facts, digest: jcsDigest(value, (canonical) => hash('sha256', canonical, 'hex')), text }
  },
}

function readFacts(value: unknown, text: string | null): EnvelopeFacts {
  try {
    return readEnvelope(value, text)
  } catch (error) {
    if (!(error instanceof EnvelopeError)) throw error
    throw new ServiceError(error.code, { detail: error.message, cause: error })
  }
}

function isWithinLimits({ payloadBytes: bytes, payloadCharacters: characters, to }: EnvelopeFacts): boolean {
  return fits({ bytes, characters }, to.kind === 'board' ? POST_SIZE_LIMITS : DM_SIZE_LIMITS)
}

/**
 * Makes the checks that follow the shape in the order of spec 7.2 and need no other service.
 * @throws ServiceError `sender_mismatch`, `message_too_large`.
 */
function checkSenderAndSize(signer: string, envelope: SizedEnvelope | OversizedEnvelope): SizedEnvelope {
  if (envelope.facts.from !== signer) throw new ServiceError('sender_mismatch')
  if (!('digest' in envelope)) throw new ServiceError('message_too_large')
  return envelope
}

function wireFacts({ id, tsMs, ttl, replyTo, threadId, payloadBytes }: EnvelopeFacts, digest: string) {
  return {
    id,
    digest,
    ts_ms: tsMs,
    ttl,
    reply_to: replyTo ?? null,
    thread_id: threadId ?? null,
    payload_bytes: payloadBytes,
  }
}
