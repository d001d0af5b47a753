import { listOverdue } from '@svc/contracts/budget.ts'
import { type Loop, startLoop } from '@svc/service/loop.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { defineCount, defineLevel } from '@svc/telemetry/metrics.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import { type AbandonDeps, createAbandon } from './abandon.ts'

interface ResolverDeps extends AbandonDeps {
  logger: Logger
  intervalMs?: number
}

const resolved = defineCount({
  name: 'agentmsg_charges_resolved_total',
  help: 'Charges of dead or failed attempts that the resolver ended',
  labels: ['owner'],
})
const overdue = defineLevel({
  name: 'agentmsg_charges_overdue_seconds',
  help: 'How long the oldest reservation was past its deadline when budget was last asked',
  labels: ['owner'],
})

const DEFAULT_INTERVAL_MS = 2_000
const PASS_TIMEOUT_MS = 5_000
const MAX_ITEMS = 128
/** The longest pause between two attempts to resolve a reservation. */
const MAX_PAUSE_MS = 30_000
/** Warn if a reservation is still held this long after its deadline. */
const LATE_MS = 60_000

/**
 * Resolves the reservations that an owner's dead or failed attempts left behind. It asks budget for the owner's
 * reservations that are past their deadline, and abandons their attempts. All processes of the owner may do this at once,
 * because abandoning is idempotent.
 */
export function startResolver({ logger, intervalMs = DEFAULT_INTERVAL_MS, ...deps }: ResolverDeps): Loop {
  const abandon = createAbandon(deps)
  let oldestMs = 0
  const backoff = new Backoff(intervalMs)
  resolved.startAt0({ owner: deps.owner })
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
      if (lateMs > LATE_MS) logger.warn({ late_ms: lateMs }, 'a charge is overdue by more than a minute')
      const due = reservations.filter(({ operation }) => backoff.isDue(operation))
      const outcomes = await Promise.allSettled(
        due.map(({ operation, deadline_ms: deadlineMs }) => abandon({ operation, deadlineMs }, context)),
      )
      const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
      backoff.recordFailures(
        reservations.map(({ operation }) => operation),
        due.filter((_, at) => outcomes[at]?.status === 'rejected').map(({ operation }) => operation),
      )
      const ended = due.length - failures.length
      resolved.add({ owner: deps.owner }, ended)
      if (ended > 0) logger.info({ resolved: ended }, 'overdue charges resolved')
      if (failures.length > 0 && ended === 0) throw failures[0]
      if (failures.length > 0)
        logger.warn(
          { err: failures[0], failures: failures.length },
          'some overdue charges could not be resolved; they will be retried',
        )
      return ended === MAX_ITEMS
    },
  })
}

/** Backoff for operations that could not be resolved, so that a stalled transaction does not delay the others. */
class Backoff {
  readonly #firstMs: number
  #waiting = new Map<string, { pauseMs: number; untilMs: number }>()

  constructor(firstMs: number) {
    this.#firstMs = firstMs
  }

  isDue(operation: string): boolean {
    return (this.#waiting.get(operation)?.untilMs ?? 0) <= Date.now()
  }

  /** @param listed all overdue operations. The backoff of all other operations is dropped. */
  recordFailures(listed: readonly string[], failed: readonly string[]): void {
    const nowMs = Date.now()
    const hasFailed = new Set(failed)
    this.#waiting = new Map(
      listed.flatMap((operation) => {
        const before = this.#waiting.get(operation)
        if (!hasFailed.has(operation)) return before === undefined ? [] : [[operation, before]]
        const pauseMs = Math.min((before?.pauseMs ?? this.#firstMs) * 2, MAX_PAUSE_MS)
        return [[operation, { pauseMs, untilMs: nowMs + pauseMs }]]
      }),
    )
  }
}
