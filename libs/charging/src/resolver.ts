import { listOverdue } from '@svc/contracts/budget.ts'
import { type Loop, startLoop } from '@svc/service/loop.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { defineCount, defineLevel } from '@svc/telemetry/metrics.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import { type AbandonDeps, createAbandon } from './abandon.ts'

export interface ResolverDeps extends AbandonDeps {
  logger: Logger
  intervalMs?: number
}

const resolved = defineCount({
  name: 'svc_charges_resolved_total',
  help: 'Charges that the resolver ended: what dead or failed attempts had left',
  labels: ['owner'],
})
const overdue = defineLevel({
  name: 'svc_charges_overdue_seconds',
  help: 'How long the oldest reservation was past its deadline when budget was last asked',
  labels: ['owner'],
})

const DEFAULT_INTERVAL_MS = 2_000
const PASS_TIMEOUT_MS = 5_000
const MAX_ITEMS = 128
/** No reservation should wait for longer than this after its deadline. */
const LATE_MS = 60_000

/**
 * Ends what an owner's dead or failed attempts have left: asks budget for reservations of the owner that are past their
 * deadline and abandons them. Safe in every process of the owner at once: all may abandon the same ones.
 */
export function startResolver({ logger, intervalMs = DEFAULT_INTERVAL_MS, ...deps }: ResolverDeps): Loop {
  const abandon = createAbandon(deps)
  let oldestMs = 0
  resolved.add({ owner: deps.owner }, 0) // there from the beginning, so that the first one is an increase
  overdue.read(() => [[{ owner: deps.owner }, oldestMs / 1_000]])
  return startLoop({
    name: 'resolve-charges',
    logger,
    intervalMs,
    run: async () => {
      const context = { traceparent: newTraceparent(), deadlineMs: Date.now() + PASS_TIMEOUT_MS }
      const { reservations } = await deps.bus.call(listOverdue, { owner: deps.owner, limit: MAX_ITEMS }, context)
      const lateMs = Date.now() - (reservations[0]?.deadline_ms ?? Date.now())
      oldestMs = Math.max(lateMs, 0)
      if (lateMs > LATE_MS) logger.warn({ late_ms: lateMs }, 'a charge is long overdue')
      const outcomes = await Promise.allSettled(
        reservations.map(({ operation, deadline_ms: deadlineMs }) => abandon({ operation, deadlineMs }, context)),
      )
      const failure = outcomes.find((outcome) => outcome.status === 'rejected')
      resolved.add({ owner: deps.owner }, outcomes.filter(({ status }) => status === 'fulfilled').length)
      if (failure !== undefined) throw failure.reason
      if (reservations.length > 0) logger.info({ resolved: reservations.length }, 'overdue charges resolved')
      return reservations.length === MAX_ITEMS
    },
  })
}
