import type { CallContext } from '@svc/contracts/define.ts'
import { sendMessage } from '@svc/contracts/messaging.ts'
import type { SendResult } from '@svc/contracts/resources.ts'
import type { Bus } from '@svc/nats/bus.ts'
import { jsonAnswer, type TextAnswer } from '../http/answer.ts'
import { createChargeAhead } from './charge-ahead.ts'
import { checkSize, type ShapedEnvelope, wireFacts } from './envelope-body.ts'
import type { Participants } from './participants.ts'

export interface SendDeps {
  readonly bus: Bus
  readonly participants: Participants
}

/** A request to send, while identity still consumes its nonce. */
interface SendRequest {
  readonly signer: string
  readonly body: ShapedEnvelope
  readonly context: CallContext
  /** Rejected if the request is refused. The pipeline then answers that refusal, whatever else is wrong with the request. */
  readonly admitted: Promise<void>
}

/**
 * Sends one envelope. docs/architecture.md, *States of a direct message*, has the states that a message passes through.
 *
 * If the pair's last message went straight to the inbox, budget reserves the cost while identity consumes the nonce
 * (charge-ahead.ts, ADR 6 and 7). All other messages are charged by messaging.
 */
export function createSendMessage({ bus, participants }: SendDeps): (request: SendRequest) => Promise<TextAnswer> {
  const ahead = createChargeAhead(bus)
  return async ({ signer, body, context, admitted }) => {
    await participants.checkSender(body.facts.from, signer, context)
    const envelope = checkSize(body)
    const recipient = await participants.resolve(envelope.facts.to, context)
    const charge = ahead.chargeOf(signer, recipient, envelope)
    const reserved = await ahead.reserve(charge, context)
    try {
      await admitted
    } catch (refusal) {
      await ahead.giveBack(charge, reserved, context)
      throw refusal
    }
    const request = { signer, recipient, facts: wireFacts(envelope), envelope: envelope.text, reserved }
    let result: SendResult | undefined
    try {
      result = await bus.call(sendMessage, request, context)
    } finally {
      ahead.note(signer, recipient, result)
    }
    return jsonAnswer(result.duplicate ? 200 : 202, result)
  }
}
