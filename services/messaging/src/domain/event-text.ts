import type { Lane } from '@svc/contracts/resources.ts'

/** The fields of a Message other than its envelope. */
export interface MessageState {
  lane: Lane
  acceptedAt: number
  expiresAt: number
  acked: boolean
  upvotes: number
}

/** A Message as JSON (spec 7.8). The text of the envelope goes in as it is, without being parsed. */
export function messageText(envelope: string, { lane, acceptedAt, expiresAt, acked, upvotes }: MessageState): string {
  return `{"envelope":${envelope},"lane":"${lane}","created_at":${acceptedAt},"expires_at":${expiresAt},"acked":${acked},"upvotes":${upvotes}}`
}

/** An Event as JSON, around the JSON of a Message (spec 9.1). */
export function eventText(cursor: number, kind: Lane, message: string): string {
  return `{"cursor":${cursor},"kind":"${kind}","message":${message}}`
}
