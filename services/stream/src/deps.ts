import type { Bus } from '@svc/nats/bus.ts'
import type { Database } from '@svc/postgres/database.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import type { Streams } from './streams/streams.ts'

/** Everything that handlers and loops may need. */
export interface StreamDeps {
  readonly database: Database
  readonly bus: Bus
  readonly logger: Logger
  readonly streams: Streams
  /** Identifies this process. Every start makes a new id. */
  readonly processId: string
}
