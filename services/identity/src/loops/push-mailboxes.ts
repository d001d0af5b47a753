import { type Loop, startLoop } from '@svc/service/loop.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import { pushMailbox } from '../calls/push-mailbox.ts'
import type { IdentityDeps } from '../deps.ts'
import { listUnpushed } from '../store/agents.ts'

const INTERVAL_MS = 1_000
const PAGE = 100
const PUSH_DEADLINE_MS = 3_000

/**
 * Retries pushes that are still missing, because a process died or could not reach messaging. Safe on many replicas,
 * because a push is idempotent. A mailbox that fails does not hold up others. It does not make this service unready
 * either, since all calls are still answered.
 */
export function startPushMailboxes(deps: Pick<IdentityDeps, 'bus' | 'database'> & { logger: Logger }): Loop {
  return startLoop({
    name: 'push-mailboxes',
    logger: deps.logger,
    intervalMs: INTERVAL_MS,
    run: async (signal) => {
      const failures: unknown[] = []
      for (let after = ''; !signal.aborted; ) {
        const page = await deps.database.run((sql) => listUnpushed(sql, after, PAGE))
        const context = { traceparent: newTraceparent(), deadlineMs: Date.now() + PUSH_DEADLINE_MS }
        const results = await Promise.allSettled(page.map((mailbox) => pushMailbox(deps, mailbox, context)))
        for (const result of results) if (result.status === 'rejected') failures.push(result.reason)
        const last = page.at(-1)
        if (last === undefined || page.length < PAGE) break
        after = last.agent_id
      }
      if (failures.length > 0) {
        deps.logger.warn({ err: failures[0], mailboxes: failures.length }, 'could not push all mailboxes to messaging')
      }
      return false
    },
  })
}
