/** The price of a message (spec 11.2). Pure. The gateway uses it to reserve ahead, messaging to charge and to audit. */
import { LIMITS } from './limits.ts'
import { messageOperation } from './message-operation.ts'

/** What a DM costs its sender (spec 11.2). */
export interface MessageCharge {
  readonly operation: string
  readonly agentId: string
  readonly units: number
  /**
   * The agent that the message introduces the sender to, unless both were introduced before; null for a message to oneself
   * (spec 11.5).
   */
  readonly introductionPeer: string | null
}

/** @param payloadBytes the number of charged bytes (spec 6.5, 11.2). */
export function chargeOfMessage(message: {
  id: string
  digest: string
  sender: string
  recipient: string
  payloadBytes: number
}): MessageCharge {
  const { id, digest, sender, recipient, payloadBytes } = message
  return {
    operation: messageOperation(id, digest),
    agentId: sender,
    units: costUnits(payloadBytes, 1),
    introductionPeer: sender === recipient ? null : recipient,
  }
}

/**
 * The units that a message costs: ceil(bytes / 1024) for each subscribed recipient, at least 1. A DM has one recipient
 * (spec 11.2).
 */
export function costUnits(payloadBytes: number, recipients: number): number {
  return Math.max(1, Math.ceil(payloadBytes / LIMITS.bytesPerUnit) * recipients)
}
