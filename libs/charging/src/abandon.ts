import { setTimeout } from 'node:timers/promises'
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

/** How long to retry a fence that met a commit in flight, starting after `FIRST_PAUSE_MS`. A commit takes milliseconds. */
const IN_FLIGHT_MS = 1_000
const FIRST_PAUSE_MS = 5

/**
 * Abandons attempts. The owner's database decides, for good, whether the operation is committed. Then budget settles or
 * releases the charge. Any process may repeat any step, so it does not matter which process dies in between.
 */
export function createAbandon({
  owner,
  bus,
  fences,
}: AbandonDeps): (reservation: Reservation, context: CallContext) => Promise<void> {
  const tryOnce = createBatcher<Item, 'ended' | 'in flight'>({
    name: 'charging.abandon',
    // A fence may name an operation only once.
    keyOf: ({ reservation }) => reservation.operation,
    overloaded: () =>
      new ServiceError('unavailable', { cause: new Error('too many attempts are waiting to be abandoned') }),
    run: async (items) => {
      const committed = await fences.fence(items.map((item) => item.reservation))
      failpoint(`charging.${owner}.fenced`)
      return Promise.all(items.map((item, index) => resolve(item, committed[index]).catch(asError)))
    },
  })
  return async (reservation, context) => {
    const untilMs = Date.now() + IN_FLIGHT_MS
    for (let pauseMs = FIRST_PAUSE_MS; (await tryOnce({ reservation, context })) === 'in flight'; pauseMs *= 2) {
      if (Date.now() + pauseMs > untilMs) {
        throw new ServiceError('unavailable', { cause: new Error('a commit of the operation is in flight') })
      }
      await setTimeout(pauseMs)
    }
  }

  async function resolve(
    { reservation, context }: Item,
    committed: boolean | undefined,
  ): Promise<'ended' | 'in flight'> {
    const { operation, deadlineMs } = reservation
    if (committed === undefined) return 'in flight'
    if (committed) await bus.call(settle, { operation }, context)
    else await bus.call(release, { operation, deadline_ms: deadlineMs }, context)
    failpoint(`charging.${owner}.resolved`)
    return 'ended'
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
