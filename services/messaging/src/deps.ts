import type { Batcher } from '@svc/batching/batcher.ts'
import type { Charging } from '@svc/charging/charging.ts'
import type { Operations } from '@svc/charging/operations.ts'
import type { PublishEvents } from '@svc/nats/streams/publish-events.ts'
import type { Database } from '@svc/postgres/database.ts'
import type { Boards } from './calls/boards.ts'
import type { Append, Appended } from './store/send/append.ts'
import type { PostAppend, PostAppended } from './store/send/append-posts.ts'
import type { PostPreflight, PostQuestion } from './store/send/post-preflight.ts'
import type { Preflight, PreflightQuestion } from './store/send/preflight.ts'
import type { Standings } from './store/send/standings.ts'

/** Dependencies of `sendPost`. */
export interface PostDeps {
  readonly preflight: Batcher<PostQuestion, PostPreflight>
  readonly append: Batcher<PostAppend, PostAppended>
  readonly boards: Boards
  readonly charging: Charging
}

/** Dependencies of `sendMessage`. */
export interface SendDeps {
  readonly posts: PostDeps
  readonly standings: Standings
  readonly preflight: Batcher<PreflightQuestion, Preflight>
  readonly append: Batcher<Append, Appended>
  readonly charging: Charging
}

/** Dependencies of all other calls. */
export interface Deps {
  readonly database: Database
  readonly boards: Boards
  readonly charging: Charging
  /** Records charges for everything except messages, whose rows in messaging.ids are the record. */
  readonly operations: Operations
  /** Publishes events that this process has just committed. */
  readonly publish: PublishEvents
  /** Answered as `retention_days`, rounded up (spec 6.8). */
  readonly retentionDays: number
}
