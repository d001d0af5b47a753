/**
 * Charging: reserve, commit, settle (ADR 21). Killing any process between any two steps leaves neither a
 * charge without its effect nor an effect without its charge; README.md has the argument.
 *
 * Failpoints: `charging.<owner>.reserved`, `.committed`; in settle-later.ts `.settled`; in abandon.ts `.fenced`,
 * `.resolved`; in purge.ts `.confirmed`.
 */
import { type ChargeOwner, RESERVATION_HOLD_MS, release, reserve } from '@svc/contracts/budget.ts'
import type { CallContext } from '@svc/contracts/define.ts'
import { isDefinite } from '@svc/contracts/errors.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import type { Bus } from '@svc/nats/bus.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { defineCount } from '@svc/telemetry/metrics.ts'
import { createAbandon } from './abandon.ts'
import { type Fences, NotCommitted, type Reservation } from './fences.ts'
import { createSettleLater } from './settle-later.ts'

/** What an operation takes from the budget of `agentId`. What is free does not come here (spec 11.2). */
export interface Cost {
  /**
   * `<owner>:` and what is the same for every attempt at this operation and for no other one: the message's id and
   * digest, or an id drawn for the request. The same operation again is not charged again.
   */
  readonly operation: string
  readonly agentId: string
  /** At least 1. */
  readonly units: number
  /** The other agent of a DM, null where nobody is introduced (spec 11.5). */
  readonly introductionPeer: string | null
}

/** What one attempt has taken. */
export interface Reserved extends Reservation {
  /** The operation was settled before: nothing was taken now. */
  readonly settled: boolean
  /** Another attempt may still be under way on the same reservation. */
  readonly shared: boolean
}

export interface Charging {
  readonly owner: ChargeOwner
  /**
   * Reserves the cost, lets the owner commit the operation, and settles afterwards in the background.
   *
   * `commit` is the owner's own transaction: it records the operation, and refuses past the deadline or a fence
   * (`Operations.commit`, or the owner's own function). What it throws is thrown here. Where that is definite (`isDefinite`, or
   * `NotCommitted`) the cost has been given back before; otherwise the resolver finds out what happened.
   *
   * @throws ServiceError of `reserve`: `introduction_limit_reached`, `hard_limit_reached`, `budget_exhausted`, `unavailable`.
   */
  charge<T>(cost: Cost, context: CallContext, commit: (reservation: Reservation) => Promise<T>): Promise<T>
  /** The first half of `charge`, for an owner that reserves before it knows whether there is anything to commit. */
  reserve(cost: Cost, context: CallContext): Promise<Reserved>
  /** The second half; `reserved` is used at most once, here or in `cancel`. */
  finish<T>(reserved: Reserved, context: CallContext, commit: (reservation: Reservation) => Promise<T>): Promise<T>
  /**
   * Gives back what an attempt has taken that is never to be committed. It needs no fence: nobody else has its deadline,
   * and the attempts before it were fenced. Where there may still be one it is abandoned, and with it those before it: their
   * owner repeats them. Never throws: what fails here is the resolver's.
   */
  cancel(reserved: Reserved, context: CallContext): Promise<void>
  /**
   * Gives an attempt up: fences it, then gives back what it took, or settles it where it was committed after all.
   * @throws ServiceError `unavailable` where that is not done yet; asking again is safe, and the resolver does.
   */
  abandon(reservation: Reservation, context: CallContext): Promise<void>
}

export interface ChargingDeps {
  owner: ChargeOwner
  bus: Bus
  logger: Logger
  /** Of the owner's database. */
  fences: Fences
  /**
   * How long an attempt may take, in milliseconds. More than a call ever takes (spec 3.17: 5 s), because the
   * rest is what the clocks of budget's and the owner's database may differ by before commits are refused.
   */
  holdMs?: number
}

const charges = defineCount({
  name: 'svc_charges_total',
  help: 'Steps of charges: reserved, then committed, not_committed or cancelled',
  labels: ['owner', 'step'],
})

export function createCharging({ owner, bus, logger, fences, holdMs = RESERVATION_HOLD_MS }: ChargingDeps): Charging {
  const abandon = createAbandon({ owner, bus, fences })
  const points = {
    reserved: `charging.${owner}.reserved`,
    committed: `charging.${owner}.committed`,
  }
  const settleLater = createSettleLater({ owner, bus, logger })

  return {
    owner,
    reserve: take,
    finish,
    async cancel({ operation, deadlineMs, settled, shared }, context) {
      charges.add({ owner, step: 'cancelled' })
      if (settled) return
      await leave(() =>
        shared
          ? abandon({ operation, deadlineMs }, context)
          : bus.call(release, { operation, deadline_ms: deadlineMs }, context),
      )
    },
    charge: async (cost, context, commit) => finish(await take(cost, context), context, commit),
    abandon,
  }

  async function take(cost: Cost, context: CallContext): Promise<Reserved> {
    checkCost(owner, cost)
    const { operation } = cost
    const request = {
      operation,
      owner,
      agent_id: cost.agentId,
      units: cost.units,
      introduction_peer: cost.introductionPeer,
      hold_ms: holdMs,
    }
    const { deadline_ms: deadlineMs, settled, shared } = await bus.call(reserve, request, context)
    failpoint(points.reserved)
    charges.add({ owner, step: 'reserved' })
    return { operation, deadlineMs, settled, shared }
  }

  async function finish<T>(
    reserved: Reserved,
    context: CallContext,
    commit: (reservation: Reservation) => Promise<T>,
  ): Promise<T> {
    const { operation, deadlineMs, settled } = reserved
    const reservation = { operation, deadlineMs }
    let result: Awaited<T>
    try {
      result = await commit(reservation)
    } catch (error) {
      charges.add({ owner, step: 'not_committed' })
      // What was settled before stays settled, whatever this attempt met.
      if (!settled && (isDefinite(error) || error instanceof NotCommitted))
        await leave(() => abandon(reservation, context))
      throw error
    }
    failpoint(points.committed)
    charges.add({ owner, step: 'committed' })
    if (!settled) settleLater(operation)
    return result
  }

  /** The client's answer is the commit's error, not this one's: what fails here is the resolver's. */
  async function leave(giveBack: () => Promise<unknown>): Promise<void> {
    try {
      await giveBack()
    } catch (error) {
      logger.warn({ err: error }, 'a charge is given back later')
    }
  }
}

function checkCost(owner: ChargeOwner, { operation, units }: Cost): void {
  if (!operation.startsWith(`${owner}:`)) throw new RangeError(`an operation of ${owner} begins with its name`)
  if (!Number.isSafeInteger(units) || units < 1) throw new RangeError('what is charged costs at least 1 unit')
}
