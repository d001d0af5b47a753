import { type Loop, startLoop } from '@svc/service/loop.ts'
import type { WebhookDeps } from '../deps.ts'
import { purgeJobs, removeRetired } from '../store/jobs.ts'

const INTERVAL_MS = 5_000
/** Rows of one transaction. */
const BATCH_ROWS = 500
/**
 * The stream keeps an event for a day and the outbox publishes it again for a day, so after this long one comes again only where
 * NATS has lost its data day after day. Its job is then made once more, with the delivery id that it had. Reconciliation
 * looks at no entry twice, and a job is kept until it has passed the job's message, however long that takes.
 */
const KEEP_SECONDS = 3 * 24 * 60 * 60

/** Removes jobs that are void, and forgets those that ended long ago. Any number at once: rows that another takes are skipped. */
export function startRemoveJobs({ database, logger }: Pick<WebhookDeps, 'database' | 'logger'>): Loop {
  return startLoop({
    name: 'remove-jobs',
    logger,
    intervalMs: INTERVAL_MS,
    run: async () => {
      const moreVoid = await database.run((sql) => removeRetired(sql, BATCH_ROWS))
      const purged = await database.run((sql) => purgeJobs(sql, KEEP_SECONDS, BATCH_ROWS))
      return moreVoid || purged === BATCH_ROWS
    },
  })
}
