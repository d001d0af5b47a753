import { type Loop, startLoop } from '@svc/service/loop.ts'
import type { WebhookDeps } from '../deps.ts'
import { purgeJobs, removeRetired } from '../store/jobs.ts'

const INTERVAL_MS = 5_000
/** Maximum number of rows per transaction. */
const BATCH_ROWS = 500
/**
 * Ended jobs are kept so that a repeated event makes no second job. The stream keeps an event for a day, and may deliver it
 * again until then. Reconciliation examines no entry twice, and a job is kept until reconciliation has passed its message,
 * however long that takes.
 */
const KEEP_SECONDS = 3 * 24 * 60 * 60

/** Removes void jobs, and forgets jobs that ended long ago. Safe on many replicas: each skips the rows that another takes. */
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
