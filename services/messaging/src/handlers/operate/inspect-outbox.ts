import type { inspectOutbox as inspectOutboxCall, republish as republishCall } from '@svc/contracts/admin.ts'
import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import type { Deps } from '../../deps.ts'
import { findUnpublished, listOutbox, requeueRange } from '../../store/operate/outbox-inspection.ts'
import { oldestUnpublishedSeconds } from '../../store/outbox.ts'

/** How many events wait to be published, how old the oldest is, and a page of rows. */
export async function inspectOutbox(
  { database }: Pick<Deps, 'database'>,
  { before, limit }: RequestOf<typeof inspectOutboxCall>,
): Promise<ReplyOf<typeof inspectOutboxCall>> {
  const [{ count, oldest }, seconds, rows] = await Promise.all([
    database.run(findUnpublished),
    database.run(oldestUnpublishedSeconds),
    database.run((sql) => listOutbox(sql, before, limit)),
  ])
  return { unpublished: count, oldest_unpublished_seconds: seconds, oldest_unpublished: oldest, rows }
}

/** Makes published rows due again. The outbox loop of any process publishes them within seconds. */
export async function republish(
  { database }: Pick<Deps, 'database'>,
  { from, to, limit, dry_run: dryRun }: RequestOf<typeof republishCall>,
): Promise<ReplyOf<typeof republishCall>> {
  const { rows, events, last } = await database.run((sql) => requeueRange(sql, { from, to, limit, dryRun }))
  return { rows, events, next: rows === limit && last !== null && last < to ? last + 1 : null }
}
