/**
 * Charging: reserve, commit, settle (ADR 21). If any process is killed between any two steps, there is no charge without its
 * effect and no effect without its charge. README.md explains why.
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
import type { Fences, Reservation } from './fences.ts'
import { createSettleLater } from './settle-later.ts'

/** The cost of an operation, charged to the budget of `agentId`. Free operations do not use this library (spec 11.2). */
export interface Cost {
  /**
   * `<owner>:` and a key that all attempts at this operation share and no other operation has: the message's id and digest, or
   * an id drawn for the request. A repeated operation is not charged again.
   */
  readonly operation: string
  readonly agentId: string
  /** At least 1. */
  readonly units: number
  /** The other agent of a DM; null if the operation introduces nobody (spec 11.5). */
  readonly introductionPeer: string | null
}

/** Thrown by a commit that had no effect, because the change would now have another price or has been made meanwhile. */
export class PriceChanged extends Error {
  override name = 'PriceChanged'
}

/** The reservation of one attempt. */
export interface Reserved extends Reservation {
  /** The operation was already settled, so nothing was charged now. */
  readonly settled: boolean
  /** Another attempt with the same reservation may still be under way. */
  readonly shared: boolean
}

export interface Charging {
  readonly owner: ChargeOwner
  /**
   * Reserves the cost, lets the owner commit the operation, and then settles the charge in the background.
   *
   * `commit` is the owner's own transaction. It records the operation, and it fails past the deadline or behind a fence
   * (`Operations.commit`, or the owner's own function). Its errors are thrown here. Before a definite error (`isDefinite`,
   * or `PriceChanged`) is thrown, the cost is released. After any other error, the resolver finds out what happened.
   *
   * @throws ServiceError of `reserve`: `introduction_limit_reached`, `hard_limit_reached`, `budget_exhausted`,
   * `unavailable`.
   */
  charge<T>(cost: Cost, context: CallContext, commit: (reservation: Reservation) => Promise<T>): Promise<T>
  /** The first half of `charge`, for an owner that reserves before it knows whether there is anything to commit. */
  reserve(cost: Cost, context: CallContext): Promise<Reserved>
  /** The second half of `charge`. Pass `reserved` at most once, here or to `cancel`. */
  finish<T>(reserved: Reserved, context: CallContext, commit: (reservation: Reservation) => Promise<T>): Promise<T>
  /**
   * Releases the charge of an attempt that will never commit. This needs no fence, because no other attempt has its
   * deadline and earlier attempts were fenced. If another attempt may still be under way (`shared`), this attempt and all
   * earlier ones are abandoned, and their callers repeat them. Never throws: after a failure here, the resolver releases
   * the charge.
   */
  cancel(reserved: Reserved, context: CallContext): Promise<void>
  /**
   * Abandons an attempt: fences it, and then releases its charge, or settles it if the attempt was committed after all.
   * @throws ServiceError `unavailable` if this is not done yet. A repeat is safe, and the resolver repeats it.
   */
  abandon(reservation: Reservation, context: CallContext): Promise<void>
}

interface ChargingDeps {
  owner: ChargeOwner
  bus: Bus
  logger: Logger
  /** The fences of the owner's database. */
  fences: Fences
  /**
   * How long an attempt may take, in milliseconds. This is longer than any call (spec 3.17: 5 s). The rest is the tolerated
   * difference between the clocks of budget's and the owner's databases. With a larger difference, commits are refused.
   */
  holdMs?: number
}

const charges = defineCount({
  name: 'agentmsg_charges_total',
  help: 'Steps of charges: reserved, then committed, not_committed or cancelled',
  labels: ['owner', 'step'],
})

export function createCharging(deps: ChargingDeps): Charging {
  return new OwnersCharging(deps)
}

class OwnersCharging implements Charging {
  readonly owner: ChargeOwner
  readonly abandon: Charging['abandon']
  readonly #deps: ChargingDeps
  readonly #settleLater: (operation: string) => void
  readonly #places: { reserved: string; committed: string }

  constructor(deps: ChargingDeps) {
    this.owner = deps.owner
    charges.startAt0({ owner: deps.owner, step: ['not_committed', 'cancelled'] })
    this.abandon = createAbandon(deps)
    this.#deps = deps
    this.#settleLater = createSettleLater(deps)
    this.#places = { reserved: `charging.${deps.owner}.reserved`, committed: `charging.${deps.owner}.committed` }
  }

  async charge<T>(cost: Cost, context: CallContext, commit: (reservation: Reservation) => Promise<T>): Promise<T> {
    return this.finish(await this.reserve(cost, context), context, commit)
  }

  async reserve(cost: Cost, context: CallContext): Promise<Reserved> {
    const { owner, bus, holdMs = RESERVATION_HOLD_MS } = this.#deps
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
    failpoint(this.#places.reserved)
    charges.add({ owner, step: 'reserved' })
    return { operation, deadlineMs, settled, shared }
  }

  async finish<T>(
    { operation, deadlineMs, settled }: Reserved,
    context: CallContext,
    commit: (reservation: Reservation) => Promise<T>,
  ): Promise<T> {
    const { owner } = this
    const reservation = { operation, deadlineMs }
    let result: Awaited<T>
    try {
      result = await commit(reservation)
    } catch (error) {
      charges.add({ owner, step: 'not_committed' })
      // An operation that was already settled stays settled, even if this attempt fails.
      if (!settled && (isDefinite(error) || error instanceof PriceChanged))
        await this.#orLeaveToResolver(() => this.abandon(reservation, context))
      throw error
    }
    failpoint(this.#places.committed)
    charges.add({ owner, step: 'committed' })
    if (!settled) this.#settleLater(operation)
    return result
  }

  async cancel({ operation, deadlineMs, settled, shared }: Reserved, context: CallContext): Promise<void> {
    charges.add({ owner: this.owner, step: 'cancelled' })
    if (settled) return
    await this.#orLeaveToResolver(() =>
      shared
        ? this.abandon({ operation, deadlineMs }, context)
        : this.#deps.bus.call(release, { operation, deadline_ms: deadlineMs }, context),
    )
  }

  /** Logs a failure instead of throwing it: the caller must see the error of the commit, and the resolver releases the charge. */
  async #orLeaveToResolver(giveBack: () => Promise<unknown>): Promise<void> {
    try {
      await giveBack()
    } catch (error) {
      this.#deps.logger.warn({ err: error }, 'a charge could not be released; the resolver will do it')
    }
  }
}

function checkCost(owner: ChargeOwner, { operation, units }: Cost): void {
  if (!operation.startsWith(`${owner}:`)) throw new RangeError(`an operation of ${owner} must start with "${owner}:"`)
  if (!Number.isSafeInteger(units) || units < 1) throw new RangeError(`a charge must be at least 1 unit, not ${units}`)
}
