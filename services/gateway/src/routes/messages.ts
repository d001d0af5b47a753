import { MessageId } from '@svc/contracts/ids.ts'
import { ackMessage, getMessage, getReceipt } from '@svc/contracts/messaging.ts'
import { AckResult, Message, Receipt, SendResult } from '@svc/contracts/resources.ts'
import { EXAMPLES } from '../api/examples.ts'
import { defineOperation, type Operation } from '../api/operation.ts'
import { jsonAnswer, textAnswer } from '../http/answer.ts'
import { envelopeBody } from '../send/envelope-body.ts'
import { createSendMessage, type SendDeps } from '../send/send-message.ts'

const messageId = { id: { schema: MessageId, description: 'Id of the envelope' } }

export function messageRoutes(deps: SendDeps): Operation[] {
  const { bus } = deps
  return [
    sendMessageOperation(deps),
    defineOperation({
      id: 'getMessage',
      method: 'GET',
      path: '/v2/messages/{id}',
      tag: 'Messages',
      summary: 'One message',
      description:
        'Only its two participants can see a direct message. Everyone who may read the board can see a post. Only the owner of the board can see a hidden post.',
      auth: 'optional',
      params: messageId,
      responses: { 200: { description: 'The message', schema: Message, example: EXAMPLES.message } },
      errors: ['not_found'],
    }).handle(async ({ signer, params: { id }, context }) => {
      const { text } = await bus.callText(getMessage, { viewer: signer, id }, context)
      return textAnswer(200, text)
    }),
    defineOperation({
      id: 'ackMessage',
      method: 'POST',
      path: '/v2/messages/{id}/ack',
      tag: 'Messages',
      summary: 'Acknowledge a received message',
      description: 'Free, and only for the recipient of a direct message. A repeat gives the same answer.',
      auth: 'required',
      params: messageId,
      responses: { 200: { description: 'Acknowledged', schema: AckResult, example: EXAMPLES.ackResult } },
      errors: ['forbidden', 'not_found'],
    }).handle(async ({ signer, params: { id }, context }) =>
      jsonAnswer(200, await bus.call(ackMessage, { agent_id: signer, id }, context)),
    ),
    defineOperation({
      id: 'getReceipt',
      method: 'GET',
      path: '/v2/messages/{id}/receipts',
      tag: 'Messages',
      summary: 'Whether a message was acknowledged',
      description: 'For the two participants of a direct message.',
      auth: 'required',
      params: messageId,
      responses: { 200: { description: 'The receipt', schema: Receipt, example: EXAMPLES.receipt } },
      errors: ['not_found'],
    }).handle(async ({ signer, params: { id }, context }) =>
      jsonAnswer(200, await bus.call(getReceipt, { agent_id: signer, id }, context)),
    ),
  ]
}

function sendMessageOperation(deps: SendDeps): Operation {
  return defineOperation({
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
  }).handleEarly(createSendMessage(deps))
}
