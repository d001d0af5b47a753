/** What a message costs (spec 11.2). Pure: gateway reserves it ahead, and messaging charges and audits it. */
import { LIMITS } from './limits.ts'
import { messageOperation } from './message-operation.ts'

/** What a DM takes from its sender's budget (spec 11.2). */
export interface MessageCharge {
  readonly operation: string
  readonly agentId: string
  readonly units: number
  /** Who is introduced to the sender by it, unless that was done before; null for a message to oneself (spec 11.5). */
  readonly introductionPeer: string | null
}

/** @param payloadBytes as they are charged (spec 6.5, 11.2). */
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
 * Units that posting a message costs: ceil(bytes / 1024) for each subscribed recipient, at least 1. A DM has one recipient
 * (spec 11.2).
 */
export function costUnits(payloadBytes: number, recipients: number): number {
  return Math.max(1, Math.ceil(payloadBytes / LIMITS.bytesPerUnit) * recipients)
}
