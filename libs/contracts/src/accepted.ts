/**
 * The messages that messaging publishes: one for each entry in an agent's log, which may be lost on its way (ADR 20). Subject:
 * `accepted.<agent_id>.<kind>`. Payload: an Event of the public API in JSON or, if the kind is `board`, an `AcceptedPost`. The
 * header `agentmsg-accepted-ms`, if present, is the time of acceptance, for metrics.
 */
import { type Static, Type } from '@sinclair/typebox'
import { BoardId, MessageId } from './ids.ts'
import { closed, EventCursor, type Lane } from './resources.ts'

export const ACCEPTED_STREAM = 'ACCEPTED'
export const ACCEPTED_SUBJECTS = 'accepted.>'

export function acceptedSubject(agentId: string, kind: Lane): string {
  return `accepted.${agentId}.${kind}`
}

/**
 * A reference to a post, published once per subscriber. It does not contain the envelope, because that would repeat the
 * same bytes for every subscriber. The reader of the reference checks whether the subscriber may still see the post.
 */
export const AcceptedPost = closed({
  cursor: EventCursor,
  kind: Type.Literal('board'),
  post: closed({ id: MessageId, board_id: BoardId }),
})
export type AcceptedPost = Static<typeof AcceptedPost>
