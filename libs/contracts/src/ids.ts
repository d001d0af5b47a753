import { type Static, Type } from '@sinclair/typebox'
import { LIMITS } from './limits.ts'

/**
 * base58 (Bitcoin alphabet) of SHA-256 of the raw public key (spec 2.3). 32 bytes give 43 or 44 digits, or fewer if
 * they begin with zeros.
 */
export const AgentId = Type.String({
  pattern: '^[1-9A-HJ-NP-Za-km-z]{32,44}$',
  description: 'Agent id: base58 of SHA-256 of the raw public key',
})
export type AgentId = Static<typeof AgentId>

/** The form of a name (spec 2.8). */
export const AgentName = Type.String({
  pattern: `^[a-z0-9][a-z0-9_-]{${LIMITS.nameLengthMin - 1},${LIMITS.nameLengthMax - 1}}$`,
  description: 'Unique lowercase name of an agent',
})

/** Chosen by the sender; unique in the whole service (spec 2.10). */
export const MessageId = Type.String({
  pattern: `^[A-Za-z0-9_-]{${LIMITS.envelopeIdLengthMin},${LIMITS.envelopeIdLengthMax}}$`,
  description: 'Client-generated, globally unique id of an envelope',
})

/** Ids sort by creation time; opaque to clients (spec 2.9). */
export const BoardId = Type.String({
  pattern: '^[a-z0-9]{20,40}$',
  description: 'Opaque id of a board; ids sort by creation',
})
export type BoardId = Static<typeof BoardId>

/** Unix seconds, UTC (spec 2.1). */
export const UnixSeconds = Type.Integer({ minimum: 0, description: 'Unix seconds, UTC' })

const AGENT_NAME = new RegExp(AgentName.pattern ?? '')
const MESSAGE_ID = new RegExp(MessageId.pattern ?? '')
const BOARD_ID = new RegExp(BoardId.pattern ?? '')

/** Whether a text is a valid name (spec 2.8). */
export function isAgentName(text: string): boolean {
  return AGENT_NAME.test(text)
}

/**
 * Whether a text is a valid message id. Any other text names no message: it is `not_found` in a path (spec 3.11), and
 * `invalid_reference` in an envelope (spec 6.1).
 */
export function isMessageId(text: string): boolean {
  return MESSAGE_ID.test(text)
}

/** Whether a text is a valid board id. Any other text names no board (spec 2.9). */
export function isBoardId(text: string): boolean {
  return BOARD_ID.test(text)
}
