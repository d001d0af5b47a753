import { type Loop, startLoop } from '@svc/service/loop.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import type { Publisher } from '../outbox/publisher.ts'

const INTERVAL_MS = 1_000

/** Publishes what its committer did not, and what JetStream has forgotten. Any number at once: rows are leased. */
export function startOutboxLoop(publisher: Publisher, logger: Logger): Loop {
  return startLoop({
    name: 'outbox',
    logger,
    intervalMs: INTERVAL_MS,
    run: async () => {
      const forgotten = await publisher.requeueForgotten()
      const left = await publisher.publishLeft()
      return forgotten || left
    },
  })
}
