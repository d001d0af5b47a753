import type { Batcher } from '@svc/batching/batcher.ts'
import type { Charging } from '@svc/charging/charging.ts'
import type { Operations } from '@svc/charging/operations.ts'
import type { Database } from '@svc/postgres/database.ts'
import type { Boards } from './boards.ts'
import type { PostDeps } from './handlers/send-post.ts'
import type { Publisher } from './outbox/publisher.ts'
import type { Append, Appended } from './store/append.ts'
import type { Preflight, PreflightQuestion } from './store/preflight.ts'
import type { Standings } from './store/standings.ts'

/** What a send works with. */
export interface SendDeps {
  readonly posts: PostDeps
  readonly standings: Standings
  readonly preflight: Batcher<PreflightQuestion, Preflight>
  readonly append: Batcher<Append, Appended>
  readonly charging: Charging
}

/** What the other calls work with. */
export interface Deps {
  readonly database: Database
  readonly boards: Boards
  readonly charging: Charging
  /** The record of what is charged besides messages. */
  readonly operations: Operations
  readonly publisher: Publisher
  /** As configured, for `retention_days`; a fraction in tests. */
  readonly retentionDays: number
}
