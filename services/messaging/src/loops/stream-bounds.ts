import type { StreamPublisher } from '@svc/nats/streams/stream-publisher.ts'
import { type Loop, startLoop } from '@svc/service/loop.ts'
import type { Logger } from '@svc/telemetry/logger.ts'

const INTERVAL_MS = 60_000

/**
 * Brings an existing stream in line with the configured bounds, or verifies one that others manage. Idempotent, so any number
 * of processes may run it.
 */
export function startStreamBounds(stream: StreamPublisher, logger: Logger): Loop {
  return startLoop({
    name: 'stream-bounds',
    logger,
    intervalMs: INTERVAL_MS,
    run: async () => {
      await stream.align()
      return false
    },
  })
}
