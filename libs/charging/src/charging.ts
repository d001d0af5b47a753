/**
 * Charging: reserve, commit, settle (design.md, Charging). Killing any process between any two steps leaves neither a
 * charge without its effect nor an effect without its charge; README.md has the argument.
 */
import type { ChargeOwner } from '@svc/contracts/budget.ts'
import type { CallContext } from '@svc/contracts/define.ts'
import type { Bus } from '@svc/nats/bus.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import type { Fences, Reservation } from './fences.ts'

/** What an operation takes from the budget of `agentId`. What is free does not come here (decisions 52). */
export interface Cost {
  /**
   * `<owner>:` and what is the same for every attempt at this operation and for no other one: the message's id and
   * digest, or an id drawn for the request. The same operation again is not charged again.
   */
  readonly operation: string
  readonly agentId: string
  /** At least 1. */
  readonly units: number
  /** The other agent of a DM, null where nobody is introduced (decisions 24). */
  readonly introductionPeer: string | null
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
  /** How long an attempt may take, and how far apart the clocks of budget's and the owner's database may be. */
  holdMs?: number
}
