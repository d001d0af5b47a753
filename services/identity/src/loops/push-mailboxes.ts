import { type Loop, startLoop } from '@svc/service/loop.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import type { IdentityDeps } from '../deps.ts'
import { pushMailbox } from '../push-mailbox.ts'
import { listUnpushed } from '../store/agents.ts'

const INTERVAL_MS = 1_000
const PAGE = 100
const PUSH_DEADLINE_MS = 3_000

/**
 * Pushes the mailboxes that a process which died, or could not reach messaging, has left. Safe on many replicas: what two of
 * them push counts once. One that fails holds back no other, and its service is not unready for it: it answers all
 * its calls meanwhile.
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
        deps.logger.warn({ err: failures[0], mailboxes: failures.length }, 'messaging does not know all mailboxes')
      }
      return false
    },
  })
}
