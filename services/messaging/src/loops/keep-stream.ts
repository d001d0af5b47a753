import type { KeptStream } from '@svc/nats/streams/kept-stream.ts'
import { type Loop, startLoop } from '@svc/service/loop.ts'
import type { Logger } from '@svc/telemetry/logger.ts'

/** While the stream is missing, webhook makes its jobs from the logs. */
const INTERVAL_MS = 5_000

/**
 * Creates the stream of accepted events if it is missing, and gives it the configured bounds. Verifies it if others manage it.
 * Idempotent, so any number of processes may run it.
 */
export function startKeepStream(stream: KeptStream, logger: Logger): Loop {
  return startLoop({
    name: 'keep-stream',
    logger,
    intervalMs: INTERVAL_MS,
    run: async () => {
      await stream.keep()
      return false
    },
  })
}
