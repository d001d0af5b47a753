import { createBatcher } from '@svc/batching/batcher.ts'
import type { settle, settleSoon } from '@svc/contracts/budget.ts'
import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import { retryOnConflict } from '@svc/postgres/errors.ts'
import type { BudgetDeps } from '../deps.ts'
import { settleBatch } from '../store/settle.ts'

type Deps = Pick<BudgetDeps, 'database' | 'logger'>

/** Makes one reservation final, durably. */
export function createSettle(deps: Deps): (request: RequestOf<typeof settle>) => Promise<ReplyOf<typeof settle>> {
  const settleOne = createBatcher<string, object>({
    name: 'budget.settle',
    overloaded: () => new ServiceError('unavailable', { cause: new Error('too many settlements are waiting') }),
    run: async (operations) => {
      await settleAll(deps, operations, true)
      return operations.map(() => ({}))
    },
  })
  return ({ operation }) => settleOne(operation)
}

/** Makes a batch of reservations final, as gathered by their owner, without waiting for the disk. */
export function createSettleSoon(
  deps: Deps,
): (request: RequestOf<typeof settleSoon>) => Promise<ReplyOf<typeof settleSoon>> {
  return async ({ operations }) => {
    await settleAll(deps, operations, false)
    return {}
  }
}

async function settleAll({ database, logger }: Deps, operations: string[], durable: boolean): Promise<void> {
  const released = await retryOnConflict(() => database.run((sql) => settleBatch(sql, operations, durable)))
  failpoint('budget.settled')
  if (released > 0) logger.error({ released }, 'an owner settled operations whose charges had been released')
}
