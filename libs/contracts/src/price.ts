/** The price of a message (spec 11.2). Pure: the gateway uses it to reserve ahead, and messaging to charge and audit. */
import { LIMITS } from './limits.ts'
import { messageOperation } from './message-operation.ts'

/** The charge of a DM to its sender (spec 11.2). */
export interface MessageCharge {
  readonly operation: string
  readonly agentId: string
  readonly units: number
  /**
   * The agent that the message introduces to the sender, unless they were introduced before; null for a message to
   * oneself (spec 11.5).
   */
  readonly introductionPeer: string | null
}

/** @param payloadBytes The number of bytes that are charged (spec 6.5, 11.2). */
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
