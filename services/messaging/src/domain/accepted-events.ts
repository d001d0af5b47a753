import { type AcceptedPost, acceptedSubject } from '@svc/contracts/accepted.ts'
import type { Lane } from '@svc/contracts/resources.ts'
import type { Publication } from '@svc/nats/streams/publish-events.ts'
import { eventText, messageText } from './event-text.ts'

/** A committed entry that is to be published. */
export interface CommittedEntry {
  log: string
  kind: Lane
  position: number
  envelope: string
  acceptedAt: number
  expiresAt: number
  traceparent?: string | undefined
}

/** A committed post that is to be published, with its subscribers' entries. */
export interface CommittedPost {
  id: string
  boardId: string
  entries: { log: string; position: number }[]
  traceparent?: string | undefined
}

/** The event of a direct message, built from what the committer has in memory. @param acceptedMs When the commit was known. */
export function entryEvent(entry: CommittedEntry, acceptedMs: number): Publication {
  const { log, kind, position, envelope, acceptedAt, expiresAt, traceparent } = entry
  const message = messageText(envelope, { lane: kind, acceptedAt, expiresAt, acked: false, upvotes: 0 })
  return { subject: acceptedSubject(log, kind), text: eventText(position, kind, message), traceparent, acceptedMs }
}

/** The events of a post: for each subscriber, a reference to it. */
export function postEvents({ id, boardId, entries, traceparent }: CommittedPost, acceptedMs: number): Publication[] {
  return entries.map(({ log, position }) => {
    const event: AcceptedPost = { cursor: position, kind: 'board', post: { id, board_id: boardId } }
    return { subject: acceptedSubject(log, 'board'), text: JSON.stringify(event), traceparent, acceptedMs }
  })
}
