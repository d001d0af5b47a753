import type { Server, ServerResponse } from 'node:http'
import { healthOf } from '@svc/contracts/health.ts'
import { SERVICE } from '@svc/contracts/limits.ts'
import type { Nats } from '@svc/nats/connect.ts'
import type { ProcessStats } from '@svc/nats/process-stats.ts'
import { handle, type Serving, serve } from '@svc/nats/serve.ts'
import type { Logger } from '@svc/telemetry/logger.ts'

interface AnnounceOptions {
  nats: Nats
  /** The server whose requests are counted. */
  server: Server
  logger: Logger
  isReady: () => boolean
}

/** Registers the gateway on NATS so that the operator's tools find it. Its statistics count HTTP requests instead of calls. */
export function announceGateway({ nats, server, logger, isReady }: AnnounceOptions): Promise<Serving> {
  const count = countRequests(server)
  const health = handle(healthOf('gateway'), async () => ({ ready: isReady() }))
  return serve({ nats, name: 'gateway', version: SERVICE.version, logger, endpoints: [health], stats: () => count })
}

/** An open stream counts as working. Its duration is left out of `seconds`, because it is not the duration of a call. */
function countRequests(server: Server): ProcessStats {
  const count = { calls: 0, failed: 0, working: 0, seconds: 0 }
  server.on('request', (_request, response) => {
    const beganMs = performance.now()
    count.calls += 1
    count.working += 1
    response.once('close', () => {
      count.working -= 1
      if (response.statusCode >= 500) count.failed += 1
      if (!isStream(response)) count.seconds += (performance.now() - beganMs) / 1_000
    })
  })
  return count
}

function isStream(response: ServerResponse): boolean {
  return String(response.getHeader('content-type')).startsWith('text/event-stream')
}
