import { type ChargeOwner, settle } from '@svc/contracts/budget.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import type { Bus } from '@svc/nats/bus.ts'
import { type Loop, startLoop } from '@svc/service/loop.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import type { Operations } from './operations.ts'

interface OperationsPurgeDeps {
  owner: ChargeOwner
  bus: Bus
  logger: Logger
  operations: Operations
  intervalMs?: number
  /** Operations and fences are kept for this long after their deadlines. */
  keptMs?: number
}

const DEFAULT_INTERVAL_MS = 60_000
const PASS_TIMEOUT_MS = 5_000
const DAY_MS = 24 * 60 * 60 * 1000
const MAX_ITEMS = 128

/**
 * Removes records of operations that are no longer needed.
 *
 * Once the deadline has passed by the clock of the same database, a fence has no further effect. The extra day covers a
 * clock that is set back. A committed operation may be needed as long as its reservation is held, so it is removed only
 * after budget has durably confirmed that the reservation is settled. This does not depend on any clock.
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
