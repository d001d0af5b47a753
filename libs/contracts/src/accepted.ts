/**
 * What the outbox publishes: one JetStream message for each entry in an agent's log. Source: ADR 20.
 * Subject `accepted.<agent_id>.<kind>`; `Nats-Msg-Id` `<agent_id>:<cursor>`; payload: an Event of the public API in JSON,
 * or, where the kind is `board`, an `AcceptedPost`.
 */
import { type Static, Type } from '@sinclair/typebox'
import { BoardId, MessageId } from './ids.ts'
import { closed, EventCursor, type Lane } from './resources.ts'

export const ACCEPTED_STREAM = 'ACCEPTED'
export const ACCEPTED_SUBJECTS = 'accepted.>'

export function acceptedSubject(agentId: string, kind: Lane): string {
  return `accepted.${agentId}.${kind}`
}

export function acceptedMessageId(agentId: string, cursor: number | bigint): string {
  return `${agentId}:${cursor}`
}

/**
 * A post as it travels: once for each subscriber, and without its envelope, which would be the same bytes a hundred times.
 * Whether the subscriber may still see it is asked when it is read.
 */
export const AcceptedPost = closed({
  cursor: EventCursor,
  kind: Type.Literal('board'),
  post: closed({ id: MessageId, board_id: BoardId }),
})
export type AcceptedPost = Static<typeof AcceptedPost>
