import { RESERVATION_HOLD_MS, type Reserved, release, reserve } from '@svc/contracts/budget.ts'
import type { CallContext } from '@svc/contracts/define.ts'
import { LIMITS } from '@svc/contracts/limits.ts'
import type { MessageCharge } from '@svc/contracts/price.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import type { Bus } from '@svc/nats/bus.ts'

/** Timeout of the reservation. It is short, because a repeat must be answered even while budget is unavailable (spec 11.2). */
const RESERVE_MS = 1_000

/**
 * Whether a message with this timestamp may still be accepted (spec 6.7). Outside of that window it can only be a repeat, and
 * budget has forgotten the charge of an old message. If we reserved it again and then crashed, the resolver would find the
 * message and settle it, so the sender would pay twice.
 */
export function isTimely(tsMs: number, nowMs: number): boolean {
  return tsMs >= nowMs - LIMITS.messagePastSeconds * 1_000 && tsMs <= nowMs + LIMITS.messageFutureSeconds * 1_000
}

/**
 * Reserves the cost of a DM while its request is still being admitted. The reservation belongs to messaging, which uses or
 * releases it. If this process dies, messaging's resolver does that (libs/charging). @throws ServiceError from budget.
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

/** Releases the reservation of a request that was not admitted, unless another attempt may be using it. */
export async function giveBack(
  bus: Bus,
  operation: string,
  { deadline_ms, settled, shared }: Reserved,
  context: CallContext,
): Promise<void> {
  if (!settled && !shared) await bus.call(release, { operation, deadline_ms }, context)
}
