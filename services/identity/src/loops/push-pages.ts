import type { CallContext } from '@svc/contracts/define.ts'
import { type Loop, startLoop } from '@svc/service/loop.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'

const PAGE = 100
const PUSH_DEADLINE_MS = 3_000

interface PushOptions<T> {
  readonly name: string
  readonly logger: Logger
  readonly intervalMs: number
  /** Agents after the id `after` whose push is missing, in order of id. */
  list(after: string, limit: number): Promise<T[]>
  push(missing: T, context: CallContext): Promise<void>
  /** What the log says when pushes fail. */
  readonly failed: string
}

/**
 * Retries pushes to other services that are still missing, because a process died or could not reach the service. Safe on many
 * replicas, because a push is idempotent. An agent whose push fails does not hold up others. It does not make this service unready
 * either, since all calls are still answered.
 */
export function startPushLoop<T extends { readonly agent_id: string }>(options: PushOptions<T>): Loop {
  const { name, logger, intervalMs, list, push, failed } = options
  return startLoop({
    name,
    logger,
    intervalMs,
    run: async (signal) => {
      const failures: unknown[] = []
      for (let after = ''; !signal.aborted; ) {
        const page = await list(after, PAGE)
        const context = { traceparent: newTraceparent(), deadlineMs: Date.now() + PUSH_DEADLINE_MS }
        const results = await Promise.allSettled(page.map((missing) => push(missing, context)))
        for (const result of results) if (result.status === 'rejected') failures.push(result.reason)
        const last = page.at(-1)
        if (last === undefined || page.length < PAGE) break
        after = last.agent_id
      }
      if (failures.length > 0) logger.warn({ err: failures[0], agents: failures.length }, failed)
      return false
    },
  })
}
