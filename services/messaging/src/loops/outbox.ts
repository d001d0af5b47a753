import type { Database } from '@svc/postgres/database.ts'
import { type Loop, startLoop } from '@svc/service/loop.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import type { Publisher } from '../outbox/publisher.ts'
import { oldestUnpublishedSeconds } from '../store/outbox.ts'

const INTERVAL_MS = 1_000
/** Age of an unpublished event that is worth a warning. Longer than the lease of a committer that died. */
const LATE_SECONDS = 15
/** The warning is repeated this often while events stay late. */
const REPEAT_MS = 30_000

/**
 * Publishes events that their committer did not publish, and events that JetStream has lost. Any number of processes may run
 * this loop, because each leases its rows.
 */
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
