import { setTimeout } from 'node:timers/promises'
import { createBatcher } from '@svc/batching/batcher.ts'
import { BUSY, createLockingBatcher } from '@svc/batching/locking-batcher.ts'
import type { reserve } from '@svc/contracts/budget.ts'
import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import { isLockTimeout, retryOnConflict } from '@svc/postgres/errors.ts'
import type { BudgetDeps } from '../deps.ts'
import { secondsToMidnight } from '../domain/day.ts'
import { isRefusal } from '../domain/refusal-codes.ts'
import { findFinal } from '../store/reconsider.ts'
import { findBusyAccounts, type Reserved, reserveBatch } from '../store/reserve.ts'

type Request = RequestOf<typeof reserve>
type Reply = ReplyOf<typeof reserve>

interface Item {
  request: Request
  context: CallContext
}

interface Decided extends Reserved {
  outcome: Exclude<Reserved['outcome'], 'other_price'>
}

/** Retry a decision that depends on unfinished operations for up to `UNDECIDED_MS`, starting after `FIRST_WAIT_MS`. */
const UNDECIDED_MS = 1_000
const FIRST_WAIT_MS = 5
const NONE: ReadonlySet<string> = new Set()

/**
 * Reserves the cost of an operation. Concurrent requests share one transaction.
 *
 * A refusal is answered only when it is final. As long as it depends on held reservations that may still be released, reserve
 * retries for a short time and then answers `unavailable`. The same goes for an operation that an earlier attempt holds at
 * another price. Either that attempt commits, and its price is paid, or it is released, and this attempt's price is taken.
 */
export function createReserve({
  database,
  allowances,
}: BudgetDeps): (request: Request, context: CallContext) => Promise<Reply> {
  const reserveSoon = createLockingBatcher<Item, Reserved>({
    name: 'budget.reserve',
    // One statement must name each account and each operation at most once.
    keyOf: ({ request }) => [request.agent_id, request.operation],
    lockOf: agentOf,
    isLockTimeout,
    unavailable: (reason) => new ServiceError('unavailable', { cause: new Error(reason) }),
    run: async (items, { waitMs: lockWaitMs, skipBusy }) => {
      // Skip items past their deadline: their caller is gone, so the charge would only be released again.
      const nowMs = Date.now()
      const live = items.filter(({ context }) => context.deadlineMs > nowMs)
      const busy = skipBusy ? await database.run((sql) => findBusyAccounts(sql, live.map(agentOf))) : NONE
      const free = busy.size === 0 ? live : live.filter((item) => !busy.has(agentOf(item)))
      const reserved = await retryOnConflict(() =>
        database.run((sql) => reserveBatch(sql, allowances, free.map(itemOf), { lockWaitMs })),
      )
      failpoint('budget.reserved')
      const outcomes = new Map<Item, Reserved | typeof BUSY | undefined>(
        free.map((item, index) => [item, reserved[index]]),
      )
      for (const item of live) if (busy.has(agentOf(item))) outcomes.set(item, BUSY)
      return items.map((item) => outcomes.get(item) ?? noOutcome())
    },
  })
  const isFinal = createBatcher<Item, boolean>({
    name: 'budget.is-final',
    overloaded: () =>
      new ServiceError('unavailable', { cause: new Error('too many reservations are waiting to be looked up') }),
    run: (items) => database.run((sql) => findFinal(sql, allowances, items.map(itemOf))),
  })

  return async (request, context) => {
    const item = { request, context }
    const untilMs = Math.min(Date.now() + UNDECIDED_MS, context.deadlineMs)
    for (let waitMs = FIRST_WAIT_MS; ; waitMs *= 2) {
      const reserved = await reserveSoon(item)
      const { outcome } = reserved
      if (outcome !== 'other_price' && (!isRefusal(outcome) || (await isFinal(item)))) {
        return answer({ ...reserved, outcome })
      }
      if (Date.now() + waitMs > untilMs) {
        throw new ServiceError('unavailable', {
          cause: new Error('the decision depends on operations that have not finished'),
        })
      }
      await setTimeout(waitMs)
    }
  }
}

function agentOf({ request }: Item): string {
  return request.agent_id
}

function itemOf({ request }: Item): Parameters<typeof reserveBatch>[2][number] {
  return {
    operation: request.operation,
    owner: request.owner,
    agentId: request.agent_id,
    units: request.units,
    introductionPeer: request.introduction_peer,
    holdMs: request.hold_ms,
  }
}

function answer({ outcome, deadlineMs, nowMs }: Decided): Reply {
  switch (outcome) {
    case 'taken':
      return { deadline_ms: deadlineMs, settled: false, shared: false }
    case 'held':
      return { deadline_ms: deadlineMs, settled: false, shared: true }
    case 'settled':
      return { deadline_ms: deadlineMs, settled: true, shared: false }
    case 'differs':
      throw new ServiceError('internal', {
        cause: new Error('the operation was reserved before for another agent, owner or peer'),
      })
    default:
      throw new ServiceError(outcome, { retryAfterSeconds: secondsToMidnight(nowMs) })
  }
}

function noOutcome(): ServiceError {
  return new ServiceError('unavailable', { cause: new Error('the reservation was not decided') })
}
