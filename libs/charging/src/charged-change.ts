/**
 * A change that may cost units: find the price, reserve it, then make the change and record its operation in one
 * transaction. A free change makes no call to budget, so it works while budget is down (spec 11.2).
 */
import { randomUUID } from 'node:crypto'
import type { CallContext } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { Database, Tx } from '@svc/postgres/database.ts'
import { type Charging, PriceChanged } from './charging.ts'
import type { Operations } from './operations.ts'

interface ChangeDeps {
  readonly database: Database
  readonly charging: Charging
  readonly operations: Operations
}

type Price = number | 'nothing'

interface Change<P extends Price, T> {
  /** Who pays. */
  agentId: string
  /** Names the row that `write` locks first (`Database.transaction`). */
  lock: string
  /** @returns units; 0 if the change is free; 'nothing' if there is nothing to change. @throws ServiceError if it is not allowed. */
  price: () => Promise<P>
  /**
   * Locks its row, decides again, and makes the change. So the change that is written is the one that was priced.
   * @throws PriceChanged if the change would now cost something else, or has been made meanwhile.
   */
  write: (tx: Tx, units: number) => Promise<T>
}

/** Limit on pricing attempts while concurrent requests keep changing the price. */
const MAX_DECISIONS = 5

/**
 * Makes a change and charges its price once. A client cannot choose the operation, so every request is an operation of its
 * own. A repeat after a lost answer is free if `price` finds the change made.
 */
export async function chargedChange<P extends Price, T>(
  { database, charging, operations }: ChangeDeps,
  { agentId, lock, price, write }: Change<P, T>,
  context: CallContext,
): Promise<T | Exclude<P, number>> {
  for (let decision = 1; decision <= MAX_DECISIONS; decision += 1) {
    const units: Price = await price()
    if (units === 'nothing') return units as Exclude<P, number>
    try {
      if (units === 0) return await database.transaction((tx) => write(tx, 0), lock)
      const cost = { operation: `${charging.owner}:${randomUUID()}`, agentId, units, introductionPeer: null }
      return await charging.charge(cost, context, (reservation) =>
        database.transaction(async (tx) => {
          await operations.commit(tx, reservation)
          return write(tx, units)
        }, lock),
      )
    } catch (error) {
      if (!(error instanceof PriceChanged)) throw error
    }
  }
  throw new ServiceError('unavailable', { cause: new Error('concurrent changes kept changing the price') })
}
