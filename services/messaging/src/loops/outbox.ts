import type { Database } from '@svc/postgres/database.ts'
import { type Loop, startLoop } from '@svc/service/loop.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import type { Publisher } from '../outbox/publisher.ts'
import { oldestUnpublishedSeconds } from '../store/outbox.ts'

const INTERVAL_MS = 1_000
/** Beyond the lease of a committer that died. */
const LATE_SECONDS = 15
/** While it lasts. */
const REPEAT_MS = 30_000

/** Publishes what its committer did not, and what JetStream has forgotten. Any number at once: rows are leased. */
export function startOutboxLoop(database: Database, publisher: Publisher, logger: Logger): Loop {
  let lastSaidMs = Number.NEGATIVE_INFINITY

  async function sayWhatIsLate(): Promise<void> {
    if (performance.now() - lastSaidMs < REPEAT_MS) return
    const seconds = await database.run(oldestUnpublishedSeconds)
    if (seconds < LATE_SECONDS) return
    lastSaidMs = performance.now()
    logger.warn({ oldest_unpublished_seconds: Math.round(seconds) }, 'events wait to be published')
  }

  return startLoop({
    name: 'outbox',
    logger,
    intervalMs: INTERVAL_MS,
    run: async () => {
      await sayWhatIsLate()
      const forgotten = await publisher.requeueForgotten()
      const left = await publisher.publishLeft()
      return forgotten || left
    },
  })
}
