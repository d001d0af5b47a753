import { ServiceError } from '@svc/contracts/errors.ts'
import { LIMITS } from '@svc/contracts/limits.ts'
import type { EnvelopeFacts } from '@svc/contracts/messaging.ts'

/**
 * Checks that an envelope was signed at most 300 s ago and at most 60 s ahead, and has not expired (spec 6.7). Expiry is
 * compared in whole seconds, as in `expires_at`. Otherwise a message could be accepted that has already expired.
 * @throws ServiceError `envelope_timestamp_out_of_range`, `expired`.
 */
export function checkTime({ ts_ms, ttl }: EnvelopeFacts, nowMs: number): void {
  if (ts_ms < nowMs - LIMITS.messagePastSeconds * 1000 || ts_ms > nowMs + LIMITS.messageFutureSeconds * 1000) {
    throw new ServiceError('envelope_timestamp_out_of_range')
  }
  const cap = expiryCap({ ts_ms, ttl })
  if (cap !== null && cap <= Math.floor(nowMs / 1000)) throw new ServiceError('expired')
}

/** `ts` + ttl in Unix seconds, capped at the largest safe integer. Null if the message has no ttl of its own (spec 6.8). */
export function expiryCap({ ts_ms, ttl }: Pick<EnvelopeFacts, 'ts_ms' | 'ttl'>): number | null {
  if (ttl === 0) return null
  return Math.min(Math.floor(ts_ms / 1000) + ttl, Number.MAX_SAFE_INTEGER)
}

/** What is known about a message that an envelope refers to. */
export interface Reference {
  /** The message is live. It has the same two participants, or it is on the same board and not hidden. */
  sameConversation: boolean
  /** The message has no thread_id of its own. */
  root: boolean
}

/**
 * Checks that an envelope refers only to live messages of its own conversation, and names a thread by its root (spec 6.9).
 * Undefined means that the envelope has no such reference.
 * @throws ServiceError `invalid_reference`. The text is the same for every cause, so it reveals nothing.
 */
export function checkReferences(replyTo: Reference | undefined, thread: Reference | undefined): void {
  if (replyTo !== undefined && !replyTo.sameConversation) throw new ServiceError('invalid_reference')
  if (thread !== undefined && !(thread.sameConversation && thread.root)) throw new ServiceError('invalid_reference')
}
