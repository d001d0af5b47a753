import { type Loop, startLoop } from '@svc/service/loop.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import type { Reconciliation } from '../reconciliation.ts'

/** To the next look at whether a page is due. */
const MAX_INTERVAL_MS = 1_000
const MS_PER_SECOND = 1_000

/** Holds jobs against the logs, page by page. Any number of processes at once: one has the lease of the page. */
export function startReconcile(reconciliation: Reconciliation, logger: Logger, intervalSeconds: number): Loop {
  return startLoop({
    name: 'reconcile',
    logger,
    intervalMs: Math.min(intervalSeconds * MS_PER_SECOND, MAX_INTERVAL_MS),
    run: (signal) => reconciliation.turn(signal),
  })
}
