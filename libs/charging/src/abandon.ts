import { createBatcher } from '@svc/batching/batcher.ts'
import { type ChargeOwner, release, settle } from '@svc/contracts/budget.ts'
import type { CallContext } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import type { Bus } from '@svc/nats/bus.ts'
import type { Fences, Reservation } from './fences.ts'

export interface AbandonDeps {
  owner: ChargeOwner
  bus: Bus
  fences: Fences
}

interface Item {
  reservation: Reservation
  context: CallContext
}

/**
 * Gives attempts up: the owner's database says, for good, whether the operation is committed; budget is told to keep or
 * to give back what it took. Each step may be repeated by anyone, so it does not matter who dies between them.
 */
export function createAbandon({
  owner,
  bus,
  fences,
}: AbandonDeps): (reservation: Reservation, context: CallContext) => Promise<void> {
  const abandon = createBatcher<Item, undefined>({
    name: 'charging.abandon',
    // A fence names an operation once.
    keyOf: ({ reservation }) => reservation.operation,
    overloaded: () => new ServiceError('unavailable'),
    run: async (items) => {
      const committed = await fences.fence(items.map((item) => item.reservation))
      failpoint(`charging.${owner}.fenced`)
      return Promise.all(items.map((item, index) => resolve(item, committed[index]).catch(asError)))
    },
  })
  return (reservation, context) => abandon({ reservation, context })

  async function resolve({ reservation, context }: Item, committed: boolean | undefined): Promise<undefined> {
    const { operation, deadlineMs } = reservation
    if (committed === undefined) throw new Error('a fence must answer every item')
    if (committed) await bus.call(settle, { operation }, context)
    else await bus.call(release, { operation, deadline_ms: deadlineMs }, context)
    failpoint(`charging.${owner}.resolved`)
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
