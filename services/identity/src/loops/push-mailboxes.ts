import type { Loop } from '@svc/service/loop.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { pushMailbox } from '../calls/push-mailbox.ts'
import type { IdentityDeps } from '../deps.ts'
import { listUnpushed } from '../store/agents.ts'
import { startPushLoop } from './push-pages.ts'

const INTERVAL_MS = 1_000

/** Retries policies and revocations that messaging has not confirmed. */
export function startPushMailboxes(deps: Pick<IdentityDeps, 'bus' | 'database'> & { logger: Logger }): Loop {
  return startPushLoop({
    name: 'push-mailboxes',
    logger: deps.logger,
    intervalMs: INTERVAL_MS,
    list: (after, limit) => deps.database.run((sql) => listUnpushed(sql, after, limit)),
    push: (mailbox, context) => pushMailbox(deps, mailbox, context),
    failed: 'could not push all mailboxes to messaging',
  })
}
