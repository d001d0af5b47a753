import { type Loop, startLoop } from '@svc/service/loop.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import { closeWebhook } from '../calls/close-webhook.ts'
import type { IdentityDeps } from '../deps.ts'
import { listOpenWebhooks } from '../store/agents.ts'

const INTERVAL_MS = 1_000
const PAGE = 100
const CLOSE_DEADLINE_MS = 3_000

/**
 * Retries webhooks of revoked agents that are still open, because a process died or could not reach the webhook
 * service. Safe on many replicas, because closing is idempotent. Backs off while the webhook service is unavailable.
 */
export function startCloseWebhooks(deps: Pick<IdentityDeps, 'bus' | 'database'> & { logger: Logger }): Loop {
  return startLoop({
    name: 'close-webhooks',
    logger: deps.logger,
    intervalMs: INTERVAL_MS,
    run: async () => {
      const agentIds = await deps.database.run((sql) => listOpenWebhooks(sql, PAGE))
      const context = { traceparent: newTraceparent(), deadlineMs: Date.now() + CLOSE_DEADLINE_MS }
      await Promise.all(agentIds.map((agentId) => closeWebhook(deps, agentId, context)))
      return agentIds.length === PAGE
    },
  })
}
