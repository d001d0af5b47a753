import { ServiceError } from '@svc/contracts/errors.ts'
import { LIMITS } from '@svc/contracts/limits.ts'
import type { EnvelopeFacts } from '@svc/contracts/messaging.ts'

/**
 * Checks when an envelope was signed: at most 300 s ago, at most 60 s ahead, and not expired yet (spec 6.7). Expiry counts
 * in whole seconds, as `expires_at` shows it, so nothing is accepted that would be gone at once.
 * @throws ServiceError `envelope_timestamp_out_of_range`, `expired`.
 */
export function checkTime({ ts_ms, ttl }: EnvelopeFacts, nowMs: number): void {
  if (ts_ms < nowMs - LIMITS.messagePastSeconds * 1000 || ts_ms > nowMs + LIMITS.messageFutureSeconds * 1000) {
    throw new ServiceError('envelope_timestamp_out_of_range')
  }
  const cap = expiryCap({ ts_ms, ttl })
  if (cap !== null && cap <= Math.floor(nowMs / 1000)) throw new ServiceError('expired')
}

/** `ts` + ttl in Unix seconds, null where the message has no ttl of its own (spec 6.8). A ttl past all calendars counts as far away. */
export function expiryCap({ ts_ms, ttl }: Pick<EnvelopeFacts, 'ts_ms' | 'ttl'>): number | null {
  if (ttl === 0) return null
  return Math.min(Math.floor(ts_ms / 1000) + ttl, Number.MAX_SAFE_INTEGER)
}

/** A message that an envelope refers to, as far as it is live and of the same conversation. */
export interface Reference {
  /** It is live, and between the same two participants, or on the same board and not hidden. */
  sameConversation: boolean
  /** It has no thread_id of its own. */
  root: boolean
}

/**
 * Checks what an envelope refers to: live messages of its own conversation, and a thread by its root (spec 6.9). Undefined:
 * it refers to nothing.
 * @throws ServiceError `invalid_reference`, with one text whatever is wrong.
 */
export function checkReferences(replyTo: Reference | undefined, thread: Reference | undefined): void {
  if (replyTo !== undefined && !replyTo.sameConversation) throw new ServiceError('invalid_reference')
  if (thread !== undefined && !(thread.sameConversation && thread.root)) throw new ServiceError('invalid_reference')
}
