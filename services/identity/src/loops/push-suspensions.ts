import type { Loop } from '@svc/service/loop.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { pushSuspension } from '../calls/push-suspension.ts'
import type { IdentityDeps } from '../deps.ts'
import { listUnpushedSuspensions } from '../store/suspensions.ts'
import { startPushLoop } from './push-pages.ts'

/** Streams close within 2 s (spec 12.4), also if a process dies after the commit. A pass of stream needs 0.75 s of them. */
const INTERVAL_MS = 500

/** Retries suspensions that messaging or webhook has not confirmed. */
export function startPushSuspensions(deps: Pick<IdentityDeps, 'bus' | 'database'> & { logger: Logger }): Loop {
  return startPushLoop({
    name: 'push-suspensions',
    logger: deps.logger,
    intervalMs: INTERVAL_MS,
    list: (after, limit) => deps.database.run((sql) => listUnpushedSuspensions(sql, after, limit)),
    push: (record, context) => pushSuspension(deps, record, context),
    failed: 'could not push all suspensions to messaging and webhook',
  })
}
