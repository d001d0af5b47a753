import type { grantCredits as grantCreditsCall } from '@svc/contracts/budget.ts'
import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { BudgetDeps } from '../deps.ts'
import { grantCredits as grant, previewGrant } from '../store/grants.ts'

/** Issues credits, once for each reference (spec 11.4). */
export async function grantCredits(
  { database, logger }: Pick<BudgetDeps, 'database' | 'logger'>,
  { agent_id: agentId, units, reference, dry_run: dryRun = false }: RequestOf<typeof grantCreditsCall>,
): Promise<ReplyOf<typeof grantCreditsCall>> {
  const { outcome, creditBalance } = await database.run((sql) =>
    (dryRun ? previewGrant : grant)(sql, { agentId, units, reference }),
  )
  if (outcome === 'differs')
    throw new ServiceError('id_conflict', { detail: 'the reference was used for another agent or another amount' })
  if (outcome === 'granted' && !dryRun) logger.info({ units }, 'credits granted')
  return { granted: outcome === 'granted', credit_balance: creditBalance }
}
