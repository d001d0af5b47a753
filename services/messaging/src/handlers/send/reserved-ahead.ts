/**
 * Reserving ahead: the gateway has reserved the cost of the message while identity consumed its nonce (ADR 6, 7). If the standing of
 * the pair is remembered, nothing is read before the append. The append compares that standing with the log, and finds an
 * earlier message with this id by itself. A repeat is not charged again: its timestamp is at most minutes old, so budget still
 * knows the charge of the earlier message.
 */
import type { Reserved } from '@svc/charging/charging.ts'
import type { CallContext } from '@svc/contracts/define.ts'
import { isDefinite } from '@svc/contracts/errors.ts'
import { messageOperation } from '@svc/contracts/message-operation.ts'
import type { SendDeps } from '../../deps.ts'
import type { Preflight } from '../../store/send/preflight.ts'
import type { SendRequest } from './judge.ts'

/** The things that an attempt at a message starts with. */
export interface Attempt {
  /** The gateway's reservation. The attempt uses it or gives it back. */
  readonly reserved?: Reserved | undefined
  /** The remembered standing of the pair. Only set together with a reservation. */
  readonly remembered?: Preflight | undefined
}

/** An attempt that starts with nothing: it looks everything up, and reserves the cost itself. */
export const PLAIN: Attempt = {}

export function firstAttempt(deps: SendDeps, request: SendRequest): Attempt {
  const { facts, reserved } = request
  if (reserved === null) return PLAIN
  const { deadline_ms: deadlineMs, settled, shared } = reserved
  const operation = messageOperation(facts.id, facts.digest)
  return { reserved: { operation, deadlineMs, settled, shared }, remembered: recall(deps, request) }
}

/** Whether an attempt was refused before an earlier message with this id was looked up. If there is one, the answer is a repeat. */
export function isRefusedWithoutLookup({ remembered }: Attempt, error: unknown): boolean {
  return remembered !== undefined && isDefinite(error)
}

/** Releases the gateway's reservation. Never throws: after a failure the resolver releases it. */
export async function giveBack({ charging }: SendDeps, { reserved }: Attempt, context: CallContext): Promise<void> {
  if (reserved !== undefined) await charging.cancel(reserved, context)
}

/** @returns undefined if something must be looked up: the pair is not remembered, or the message refers to another. */
function recall({ standings }: SendDeps, { signer, recipient, facts }: SendRequest): Preflight | undefined {
  if (recipient.kind !== 'agent' || facts.reply_to !== null || facts.thread_id !== null) return undefined
  const known = standings.recall(signer, recipient.id)
  if (known === undefined) return undefined
  return { ...known, earlier: undefined, recipientRevoked: false, replyTo: undefined, thread: undefined }
}
