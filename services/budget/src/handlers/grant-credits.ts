import { askedFor, recordAudit } from '@svc/audit/audit.ts'
import type { grantCredits as grantCreditsCall } from '@svc/contracts/budget.ts'
import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { BudgetDeps } from '../deps.ts'
import { grantCredits as grant, previewGrant } from '../store/grants.ts'

/** Issues credits, once for each reference (spec 11.4), and records who did. */
export async function grantCredits(
  { database, logger }: Pick<BudgetDeps, 'database' | 'logger'>,
  request: RequestOf<typeof grantCreditsCall>,
  context: Pick<CallContext, 'operator'>,
): Promise<ReplyOf<typeof grantCreditsCall>> {
  const { agent_id: agentId, units, reference, dry_run: dryRun = false } = request
  const issue = async () => {
    const asked = askedFor(request, context)
    return await database.transaction(async (tx) => {
      const granted = await grant(tx, { agentId, units, reference })
      if (granted.outcome === 'granted') {
        const result = { units, credit_balance: granted.creditBalance }
        await recordAudit(tx, 'budget', { ...asked, action: 'grant', target: agentId, reference, result })
      }
      return granted
    })
  }
  const preview = () => database.run((sql) => previewGrant(sql, { agentId, units, reference }))
  const { outcome, creditBalance } = await (dryRun ? preview() : issue())
  if (outcome === 'differs')
    throw new ServiceError('id_conflict', { detail: 'the reference was used for another agent or another amount' })
  if (outcome === 'granted' && !dryRun) logger.info({ units }, 'credits granted')
  return { granted: outcome === 'granted', credit_balance: creditBalance }
}
