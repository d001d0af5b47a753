import type { ReplyOf } from '@svc/contracts/define.ts'
import type { measureOutbox as measureOutboxCall } from '@svc/contracts/messaging.ts'
import type { Deps } from '../../deps.ts'
import { oldestUnpublishedSeconds } from '../../store/outbox.ts'

/** How far the outbox is behind: the age of its oldest unpublished row. */
export async function measureOutbox({ database }: Pick<Deps, 'database'>): Promise<ReplyOf<typeof measureOutboxCall>> {
  return { oldest_unpublished_seconds: await database.run(oldestUnpublishedSeconds) }
}
