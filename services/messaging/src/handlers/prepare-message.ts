import type { Cost, Reserved } from '@svc/charging/charging.ts'
import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { isDefinite } from '@svc/contracts/errors.ts'
import type {
  cancelMessage as cancelCall,
  EnvelopeFacts,
  prepareMessage as prepareCall,
} from '@svc/contracts/messaging.ts'
import { costUnits } from '@svc/envelope/size.ts'
import type { SendDeps } from '../deps.ts'
import { checkTime } from '../domain/acceptance.ts'
import { laneFor } from '../domain/admission.ts'
import { messageOperation } from '../domain/operations.ts'
import type { Preflight } from '../store/preflight.ts'

type Question = RequestOf<typeof prepareCall>
type OnWire = NonNullable<ReplyOf<typeof prepareCall>['reserved']>

/**
 * Reserves what a DM costs while identity still consumes the nonce of its request, which takes a commit off the time that
 * its sender waits. Only where the pair is known from before, so that hardly anything is reserved in vain; whatever
 * speaks against the message is left for `sendMessage` to find, and to say in its order.
 */
export async function prepareMessage(
  deps: SendDeps,
  question: Question,
  context: CallContext,
): Promise<ReplyOf<typeof prepareCall>> {
  const { signer, recipient, facts } = question
  const recalled = recall(deps, question)
  if (recalled === undefined || recipient.kind !== 'agent') return { reserved: null }
  try {
    checkTime(facts, Date.now())
    laneFor(signer, recipient.id, recalled.standing)
    const { deadlineMs, settled, shared } = await deps.charging.reserve(costOf(question, recipient.id), context)
    return { reserved: { deadline_ms: deadlineMs, settled, shared } }
  } catch (error) {
    if (isDefinite(error)) return { reserved: null }
    throw error
  }
}

/** Gives back what was reserved for a request that was not admitted. */
export async function cancelMessage(
  { charging }: SendDeps,
  { id, digest, reserved }: RequestOf<typeof cancelCall>,
  context: CallContext,
): Promise<ReplyOf<typeof cancelCall>> {
  await charging.cancel(reservedOf({ id, digest }, reserved), context)
  return {}
}

/** What is known of a message's pair from before; undefined where something must be looked up. */
export function recall({ standings }: SendDeps, { signer, recipient, facts }: Question): Preflight | undefined {
  if (recipient.kind !== 'agent' || facts.reply_to !== null || facts.thread_id !== null) return undefined
  const known = standings.recall(signer, recipient.id)
  if (known === undefined) return undefined
  return { ...known, earlier: undefined, recipientRevoked: false, replyTo: undefined, thread: undefined }
}

/** What a DM takes from its sender's budget (service.md, Budget rules). */
export function costOf({ signer, facts }: Pick<Question, 'signer' | 'facts'>, recipient: string): Cost {
  return {
    operation: messageOperation(facts.id, facts.digest),
    agentId: signer,
    units: costUnits(facts.payload_bytes, 1),
    introductionPeer: signer === recipient ? null : recipient,
  }
}

export function reservedOf({ id, digest }: Pick<EnvelopeFacts, 'id' | 'digest'>, reserved: OnWire): Reserved {
  const { deadline_ms: deadlineMs, settled, shared } = reserved
  return { operation: messageOperation(id, digest), deadlineMs, settled, shared }
}
