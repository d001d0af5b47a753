import { AsyncResource } from 'node:async_hooks'
import { createBatcher } from '@svc/batching/batcher.ts'
import { type ChargeOwner, settleSoon } from '@svc/contracts/budget.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import type { Bus } from '@svc/nats/bus.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import { isTracing } from '@svc/telemetry/tracing.ts'

interface SettleLaterDeps {
  owner: ChargeOwner
  bus: Bus
  logger: Logger
}

/**
 * Finished charges wait this long so that one call can settle several of them, off the response path. The wait may delay
 * only an agent that is refused at this moment: a refusal is final only when none of its charges is held.
 */
const GATHER_MS = 25
/** The most operations in one call. */
const MAX_ITEMS = 128
const TIMEOUT_MS = 5_000

/** Settles committed operations in batches. If a settle fails or is lost, the charge goes overdue and the resolver settles it. */
export function createSettleLater({ owner, bus, logger }: SettleLaterDeps): (operation: string) => void {
  const settled = `charging.${owner}.settled`
  const settle = createBatcher<string, undefined>({
    name: 'charging.settle',
    maxItems: MAX_ITEMS,
    run: async (operations) => {
      await bus.call(settleSoon, { operations }, { traceparent: newTraceparent(), deadlineMs: Date.now() + TIMEOUT_MS })
      failpoint(settled)
      return operations.map(() => undefined)
    },
  })
  let ended: (() => void)[] = []
  let timer: NodeJS.Timeout | undefined

  return (operation) => {
    // The batch belongs to the trace of every operation in it, not only to the trace that starts it.
    ended.push(isTracing() ? AsyncResource.bind(() => settleNow(operation)) : () => settleNow(operation))
    if (ended.length >= MAX_ITEMS) settleEnded()
    else timer ??= setTimeout(settleEnded, GATHER_MS).unref()
  }

  function settleEnded(): void {
    clearTimeout(timer)
    timer = undefined
    const together = ended
    ended = []
    for (const settleOne of together) settleOne()
  }

  function settleNow(operation: string): void {
    settle(operation).catch((error: unknown) =>
      logger.debug({ err: error }, 'a charge could not be settled; the resolver will do it'),
    )
  }
}
