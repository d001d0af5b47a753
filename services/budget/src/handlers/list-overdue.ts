import type { listOverdue as listOverdueCall } from '@svc/contracts/budget.ts'
import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import type { BudgetDeps } from '../deps.ts'
import { listOverdue as findOverdue } from '../store/reservations.ts'

/** What an owner has to find out about: its resolver fences each and answers with settle or release. */
export async function listOverdue(
  { database }: Pick<BudgetDeps, 'database'>,
  { owner, limit }: RequestOf<typeof listOverdueCall>,
): Promise<ReplyOf<typeof listOverdueCall>> {
  return { reservations: await database.run((sql) => findOverdue(sql, owner, limit)) }
}
