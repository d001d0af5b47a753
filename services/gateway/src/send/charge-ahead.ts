/**
 * Fast lane: the cost of a DM is reserved while identity consumes the nonce of its request (ADR 6, 7). Only for a pair whose
 * last message through this process went straight to the inbox, because messaging may refuse a stranger's message.
 *
 * Failpoint: `gateway.reserved`.
 */
import { RESERVATION_HOLD_MS, type Reserved, release, reserve } from '@svc/contracts/budget.ts'
import type { CallContext } from '@svc/contracts/define.ts'
import { unlessFault } from '@svc/contracts/errors.ts'
import { LIMITS } from '@svc/contracts/limits.ts'
import type { Recipient } from '@svc/contracts/messaging.ts'
import { chargeOfMessage, type MessageCharge } from '@svc/contracts/price.ts'
import type { SendResult } from '@svc/contracts/resources.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import type { Bus } from '@svc/nats/bus.ts'
import { LRUCache } from 'lru-cache'
import type { SizedEnvelope } from './envelope-body.ts'

interface ChargeAhead {
  /** @returns undefined if messaging must charge the message itself. */
  chargeOf(sender: string, recipient: Recipient, envelope: SizedEnvelope): MessageCharge | undefined
  /**
   * Once the reservation is sent to messaging, messaging uses or releases it. If this process dies before, messaging's resolver
   * releases it (libs/charging). @returns null without a charge, or if budget refuses or does not answer in time. Messaging
   * then reserves, and reports the first refusal in order.
   */
  reserve(charge: MessageCharge | undefined, context: CallContext): Promise<Reserved | null>
  /** Releases the reservation of a request that was not admitted, unless another attempt may be using it. */
  giveBack(charge: MessageCharge | undefined, reserved: Reserved | null, context: CallContext): Promise<void>
  /** @param result of the last message from sender to recipient; undefined if it was refused, or nobody answered. */
  note(sender: string, recipient: Recipient, result: SendResult | undefined): void
}

/** Timeout of the reservation. It is short, because a repeat must be answered even while budget is unavailable (spec 11.2). */
const RESERVE_MS = 1_000

/** About 200 bytes each. Past this, the pair used longest ago is forgotten and treated as strangers. */
const MAX_PAIRS = 50_000

export function createChargeAhead(bus: Bus): ChargeAhead {
  /** Pairs whose last message went straight to the inbox. An entry may be out of date: messaging decides by its own data. */
  const familiar = new LRUCache<string, true>({ max: MAX_PAIRS })
  return {
    chargeOf(sender, recipient, { facts, digest }) {
      if (recipient.kind !== 'agent' || !familiar.has(pairOf(sender, recipient.id))) return undefined
      if (!isTimely(facts.tsMs, Date.now())) return undefined
      return chargeOfMessage({ ...facts, digest, sender, recipient: recipient.id })
    },
    async reserve(charge, context) {
      if (charge === undefined) return null
      return reserveCharge(bus, charge, context).catch(unlessFault(null))
    },
    async giveBack(charge, reserved, context) {
      if (charge === undefined || reserved === null || reserved.settled || reserved.shared) return
      const attempt = { operation: charge.operation, deadline_ms: reserved.deadline_ms }
      // After a failure the reservation expires, and messaging's resolver releases it.
      await bus.call(release, attempt, context).catch(unlessFault(undefined))
    },
    note(sender, recipient, result) {
      if (recipient.kind !== 'agent') return
      if (result?.lane === 'inbox') familiar.set(pairOf(sender, recipient.id), true)
      else familiar.delete(pairOf(sender, recipient.id))
    },
  }
}

/**
 * Whether a message with this timestamp may still be accepted (spec 6.7). Outside of that window it can only be a repeat, and
 * budget has forgotten the charge of an old message. If we reserved it again and then crashed, the resolver would find the
 * message and settle it, so the sender would pay twice.
 */
function isTimely(tsMs: number, nowMs: number): boolean {
  return tsMs >= nowMs - LIMITS.messagePastSeconds * 1_000 && tsMs <= nowMs + LIMITS.messageFutureSeconds * 1_000
}

/** @throws ServiceError from budget. */
async function reserveCharge(bus: Bus, charge: MessageCharge, context: CallContext): Promise<Reserved> {
  const { operation, agentId, units, introductionPeer } = charge
  const request = {
    operation,
    owner: 'messaging' as const,
    agent_id: agentId,
    units,
    introduction_peer: introductionPeer,
    hold_ms: RESERVATION_HOLD_MS,
  }
  const deadlineMs = Math.min(context.deadlineMs, Date.now() + RESERVE_MS)
  const reserved = await bus.call(reserve, request, { ...context, deadlineMs })
  failpoint('gateway.reserved')
  return reserved
}

function pairOf(sender: string, recipient: string): string {
  return `${sender} ${recipient}`
}
