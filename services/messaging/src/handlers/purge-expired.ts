import type { purgeExpired as purgeExpiredCall } from '@svc/contracts/admin.ts'
import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import type { Deps } from '../deps.ts'
import { purgeBatch } from '../loops/purge.ts'
import { countExpired } from '../store/expired.ts'

/** What the purge loop does by itself, at once and with numbers. */
export async function purgeExpired(
  { database }: Pick<Deps, 'database'>,
  { dry_run: dryRun }: RequestOf<typeof purgeExpiredCall>,
): Promise<ReplyOf<typeof purgeExpiredCall>> {
  return dryRun ? database.run(countExpired) : purgeBatch(database)
}
