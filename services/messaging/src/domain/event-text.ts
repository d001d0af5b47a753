import type { Lane } from '@svc/contracts/resources.ts'

/** What of a message an answer shows beside its envelope. */
export interface MessageState {
  lane: Lane
  acceptedAt: number
  expiresAt: number
  acked: boolean
  upvotes: number
}

/** A Message in JSON around the envelope's own text, which nobody parses. Source: spec 7.8. */
export function messageText(envelope: string, { lane, acceptedAt, expiresAt, acked, upvotes }: MessageState): string {
  return `{"envelope":${envelope},"lane":"${lane}","created_at":${acceptedAt},"expires_at":${expiresAt},"acked":${acked},"upvotes":${upvotes}}`
}

/** An Event in JSON around a Message's. Source: spec 9.1. */
export function eventText(cursor: number, kind: Lane, message: string): string {
  return `{"cursor":${cursor},"kind":"${kind}","message":${message}}`
}
