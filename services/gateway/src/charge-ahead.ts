import { RESERVATION_HOLD_MS, type Reserved, release, reserve } from '@svc/contracts/budget.ts'
import type { CallContext } from '@svc/contracts/define.ts'
import { LIMITS } from '@svc/contracts/limits.ts'
import type { MessageCharge } from '@svc/contracts/price.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import type { Bus } from '@svc/nats/bus.ts'

/** So much of a request's time at most: a repeat is answered also while budget is not (spec 11.2). */
const RESERVE_MS = 1_000

/**
 * Whether a message of that time may still be accepted (spec 6.7). One that may not can only be a repeat, and budget has
 * forgotten an old one's charge: were it reserved again, and nobody left to give it back, the resolver would find the message
 * and settle what was paid before.
 */
export function isTimely(tsMs: number, nowMs: number): boolean {
  return tsMs >= nowMs - LIMITS.messagePastSeconds * 1_000 && tsMs <= nowMs + LIMITS.messageFutureSeconds * 1_000
}

/**
 * Reserves the cost of a DM while its request is still being admitted. It is a reservation of messaging's: messaging uses it
 * or gives it back, and its resolver does where this process dies (libs/charging). @throws ServiceError what budget refuses with.
 */
export async function reserveAhead(bus: Bus, charge: MessageCharge, context: CallContext): Promise<Reserved> {
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

/** Gives back what was reserved for a request that was not admitted, unless another attempt may be using it. */
export async function giveBack(
  bus: Bus,
  operation: string,
  { deadline_ms, settled, shared }: Reserved,
  context: CallContext,
): Promise<void> {
  if (!settled && !shared) await bus.call(release, { operation, deadline_ms }, context)
}
