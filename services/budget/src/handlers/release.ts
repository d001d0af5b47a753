import { createBatcher } from '@svc/batching/batcher.ts'
import type { release } from '@svc/contracts/budget.ts'
import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import { retryOnConflict } from '@svc/postgres/errors.ts'
import type { BudgetDeps } from '../deps.ts'
import { type ReleaseItem, releaseBatch } from '../store/release.ts'

/** Releases the charges of attempts that their owner has given up. */
export function createRelease({
  database,
}: Pick<BudgetDeps, 'database'>): (request: RequestOf<typeof release>) => Promise<ReplyOf<typeof release>> {
  const releaseSoon = createBatcher<ReleaseItem, object>({
    name: 'budget.release',
    keyOf: ({ operation }) => operation,
    overloaded: () => new ServiceError('unavailable', { cause: new Error('too many releases are waiting') }),
    run: async (items) => {
      await retryOnConflict(() => database.run((sql) => releaseBatch(sql, items)))
      failpoint('budget.released')
      return items.map(() => ({}))
    },
  })
  return ({ operation, deadline_ms: deadlineMs }) => releaseSoon({ operation, deadlineMs })
}
