import type { Bus } from '@svc/nats/bus.ts'
import type { Database } from '@svc/postgres/database.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import type { History } from './history.ts'
import type { Live } from './live.ts'
import type { Posts } from './posts.ts'
import type { Streams } from './streams.ts'

/** What the handlers and loops work with. */
export interface StreamDeps {
  readonly database: Database
  readonly bus: Bus
  readonly logger: Logger
  readonly streams: Streams
  /** Of this process; another one at every start. */
  readonly processId: string
}

/** What one stream works with. */
export interface Sources {
  readonly history: History
  readonly live: Live
  readonly posts: Posts
}
