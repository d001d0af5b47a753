import type { listOverdue as listOverdueCall } from '@svc/contracts/budget.ts'
import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import type { BudgetDeps } from '../deps.ts'
import { listOverdue as findOverdue } from '../store/reservations.ts'

/** The overdue reservations of an owner. The owner's resolver fences each one, and then settles or releases it. */
export async function listOverdue(
  { database }: Pick<BudgetDeps, 'database'>,
  { owner, limit }: RequestOf<typeof listOverdueCall>,
): Promise<ReplyOf<typeof listOverdueCall>> {
  return { reservations: await database.run((sql) => findOverdue(sql, owner, limit)) }
}
