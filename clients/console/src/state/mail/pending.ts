/** What waits to be sent: as it is kept, as it is shown, and as it goes back to a composer. */
import type { Message, SendResult } from '@svc/contracts/resources.ts'
import { ApiError } from '@svc/sdk/errors.ts'
import { BUDGET_CODES } from '@svc/sdk/http/retry.ts'
import type { KeptDraft, PendingEnvelope } from '../../vault/agent-store.ts'

/** An envelope that the service has not accepted yet, as far as this browser knows. It is sent by itself, unless it was refused. */
export interface Pending extends PendingEnvelope {
  /** Whether a try is under way that may be answered soon. */
  readonly isSending: boolean
  /** Epoch milliseconds. */
  readonly sinceMs: number
  /** Why the last try failed. */
  readonly problem?: string | undefined
  /** Whether the service refused the last try. Then only a person sends it again. */
  readonly isRefused: boolean
}

export interface Cancelled {
  /** What the message said, for the composer. */
  readonly draft: Omit<KeptDraft, 'changedAtMs'>
  /** Whether an earlier try may have reached the service, which may then have accepted it. */
  readonly mayHaveArrived: boolean
}

/** As long as the service keeps messages. It says the exact time when the message is read again. */
const KEPT_SECONDS = 30 * 24 * 3_600
/** `nonce_replayed`: an earlier request may have been accepted. `id_conflict`: another tab has sent this message. */
const UNCERTAIN: readonly string[] = ['nonce_replayed', 'id_conflict']

export function asPending(kept: PendingEnvelope): Pending {
  return {
    ...kept,
    isSending: false,
    sinceMs: kept.composedAtMs,
    problem: kept.refusal,
    isRefused: kept.refusal !== undefined,
  }
}

export function recordOf(pending: Pending): PendingEnvelope {
  const { envelope, body, composedAtMs, acceptReplies, isTried, refusal, isRefused } = pending
  return { envelope, body, composedAtMs, acceptReplies, isTried, ...(isRefused ? { refusal } : {}) }
}

export function draftOf({ envelope, body, acceptReplies }: PendingEnvelope): Cancelled['draft'] {
  const isJson = typeof body !== 'string'
  const { to, reply_to: replyTo, thread_id: threadId } = envelope
  return {
    to,
    text: isJson ? JSON.stringify(body, null, 2) : body,
    isJson,
    isSealed: 'body_enc' in envelope,
    ...(acceptReplies === undefined ? {} : { acceptReplies }),
    ...(replyTo === undefined ? {} : { replyTo }),
    ...(threadId === undefined ? {} : { threadId }),
  }
}

/** The message that the service has made of an envelope, until it is read from there. */
export function messageOf({ envelope }: PendingEnvelope, { lane }: SendResult): Message {
  const created_at = Math.floor(Date.now() / 1000)
  return { envelope, lane, created_at, expires_at: created_at + KEPT_SECONDS, acked: false, upvotes: 0 }
}

/** Whether the service certainly did not accept the envelope, and a further try does not help. */
export function isRefusal(error: unknown): error is ApiError {
  if (!(error instanceof ApiError) || UNCERTAIN.includes(error.code)) return false
  return BUDGET_CODES.includes(error.code) || (error.status < 500 && error.status !== 429)
}
