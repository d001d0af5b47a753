import { askedFor, recordAudit } from '@svc/audit/audit.ts'
import type { purgeExpired as purgeExpiredCall } from '@svc/contracts/admin.ts'
import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import type { Deps } from '../../deps.ts'
import { purgeBatch, type RunRemoval } from '../../loops/purge.ts'
import { countExpired } from '../../store/operate/count-expired.ts'

/** Runs one pass of the purge loop now, records each removal, and answers the numbers. A dry run only counts. */
export async function purgeExpired(
  { database, retentionDays }: Pick<Deps, 'database' | 'retentionDays'>,
  request: RequestOf<typeof purgeExpiredCall>,
  context: Pick<CallContext, 'operator'>,
): Promise<ReplyOf<typeof purgeExpiredCall>> {
  const retentionSeconds = retentionDays * 86_400
  if (request.dry_run) return database.run((sql) => countExpired(sql, retentionSeconds))
  const asked = askedFor(request, context)
  // Not `database.transaction`, which would ask for a busy partition's locks again and again.
  const run: RunRemoval = async (kind, remove) => {
    const { removed } = await database.sql.begin(async (tx) => {
      const removed = await remove(tx)
      const result = { [kind]: Number(removed) }
      if (Number(removed) > 0) await recordAudit(tx, 'messaging', { ...asked, action: 'purge', result })
      return { removed }
    })
    return removed
  }
  return purgeBatch(database, retentionSeconds, run)
}
