import { type ChargeOwner, settle } from '@svc/contracts/budget.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import type { Bus } from '@svc/nats/bus.ts'
import { type Loop, startLoop } from '@svc/service/loop.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import type { Operations } from './operations.ts'

export interface OperationsPurgeDeps {
  owner: ChargeOwner
  bus: Bus
  logger: Logger
  operations: Operations
  intervalMs?: number
  /** How long after their deadlines operations and fences are kept. */
  keptMs?: number
}

const DEFAULT_INTERVAL_MS = 60_000
const PASS_TIMEOUT_MS = 5_000
const DAY_MS = 24 * 60 * 60 * 1000
const MAX_ITEMS = 128

/**
 * Forgets what the record of operations need not know any more.
 *
 * A fence says no more than the deadline itself once that has passed by the clock of the same database; the day between
 * is for a clock that is set back. A committed operation may still be asked for while its reservation is held, so it
 * goes after budget has confirmed, durably, that the reservation is settled: no clock has a part in that.
 */
export function startOperationsPurge(deps: OperationsPurgeDeps): Loop {
  const { owner, bus, logger, operations, intervalMs = DEFAULT_INTERVAL_MS, keptMs = DAY_MS } = deps
  return startLoop({
    name: 'purge-operations',
    logger,
    intervalMs,
    run: async () => {
      const fences = await operations.removeFences(keptMs, MAX_ITEMS)
      const ids = await operations.listCommitted(keptMs, MAX_ITEMS)
      const context = { traceparent: newTraceparent(), deadlineMs: Date.now() + PASS_TIMEOUT_MS }
      await Promise.all(ids.map((operation) => bus.call(settle, { operation }, context)))
      failpoint(`charging.${owner}.confirmed`)
      await operations.remove(ids)
      return fences === MAX_ITEMS || ids.length === MAX_ITEMS
    },
  })
}
