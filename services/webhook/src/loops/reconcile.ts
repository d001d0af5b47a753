import { type Loop, startLoop } from '@svc/service/loop.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import type { Reconciliation } from './reconciliation.ts'

/** Longest time until the next check whether a page is due. */
const MAX_INTERVAL_MS = 1_000
const MS_PER_SECOND = 1_000

/** Compares jobs with the logs, page by page. Safe on any number of processes: one of them holds the lease of the page. */
export function startReconcile(reconciliation: Reconciliation, logger: Logger, intervalSeconds: number): Loop {
  return startLoop({
    name: 'reconcile',
    logger,
    intervalMs: Math.min(intervalSeconds * MS_PER_SECOND, MAX_INTERVAL_MS),
    run: (signal) => reconciliation.turn(signal),
  })
}
