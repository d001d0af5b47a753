import { createBatcher } from '@svc/batching/batcher.ts'
import { type ChargeOwner, settleSoon } from '@svc/contracts/budget.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import type { Bus } from '@svc/nats/bus.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'

interface SettleLaterDeps {
  owner: ChargeOwner
  bus: Bus
  logger: Logger
}

/** ADR 31. Only an agent whose next operation is refused waits for a settlement: its refusal is final only when no charge is held. */
const LINGER_MS = 100
const TIMEOUT_MS = 5_000

/**
 * Settles committed operations in batches, off the response path. If a settle fails or is lost, the charge goes overdue and the
 * resolver settles it.
 */
export function createSettleLater({ owner, bus, logger }: SettleLaterDeps): (operation: string) => void {
  const settled = `charging.${owner}.settled`
  const settle = createBatcher<string, undefined>({
    name: 'charging.settle',
    lingerMs: LINGER_MS,
    run: async (operations) => {
      await bus.call(settleSoon, { operations }, { traceparent: newTraceparent(), deadlineMs: Date.now() + TIMEOUT_MS })
      failpoint(settled)
      return operations.map(() => undefined)
    },
  })
  return (operation) => {
    settle(operation).catch((error: unknown) =>
      logger.debug({ err: error }, 'a charge could not be settled; the resolver will do it'),
    )
  }
}
