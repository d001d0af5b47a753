import type { purgeExpired as purgeExpiredCall } from '@svc/contracts/admin.ts'
import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import type { Deps } from '../../deps.ts'
import { purgeBatch } from '../../loops/purge.ts'
import { countExpired } from '../../store/operate/count-expired.ts'

/** Runs one pass of the purge loop now and answers the numbers. A dry run only counts. */
export async function purgeExpired(
  { database, retentionDays }: Pick<Deps, 'database' | 'retentionDays'>,
  { dry_run: dryRun }: RequestOf<typeof purgeExpiredCall>,
): Promise<ReplyOf<typeof purgeExpiredCall>> {
  const retentionSeconds = retentionDays * 86_400
  return dryRun ? database.run((sql) => countExpired(sql, retentionSeconds)) : purgeBatch(database, retentionSeconds)
}
