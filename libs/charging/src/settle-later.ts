import { AsyncResource } from 'node:async_hooks'
import { createBatcher } from '@svc/batching/batcher.ts'
import { type ChargeOwner, settleSoon } from '@svc/contracts/budget.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import type { Bus } from '@svc/nats/bus.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import { isTracing } from '@svc/telemetry/tracing.ts'

export interface SettleLaterDeps {
  owner: ChargeOwner
  bus: Bus
  logger: Logger
}

/**
 * How long what has ended waits for company: a sender's answer is on its way undisturbed meanwhile, and one call settles what
 * several appends have committed. Nobody waits for it but an agent that is refused right then: whether finally, budget knows
 * when nothing of the agent's is held.
 */
const GATHER_MS = 25
/** As many as one call takes. */
const MAX_ITEMS = 128
const TIMEOUT_MS = 5_000

/** Makes charges of committed operations final, together. What fails, or is lost, is overdue soon, and the resolver's. */
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
    // The batch is a part of each one's trace, not only of that in which it starts.
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
    settle(operation).catch((error: unknown) => logger.debug({ err: error }, 'a charge is settled later'))
  }
}
