import type { Batcher } from '@svc/batching/batcher.ts'
import type { Charging } from '@svc/charging/charging.ts'
import type { Operations } from '@svc/charging/operations.ts'
import type { Database } from '@svc/postgres/database.ts'
import type { AccessQuestion, AccessRow } from './store/access.ts'

/** What the handlers work with; each names the part of it that it needs. */
export interface BoardsDeps {
  readonly database: Database
  readonly charging: Charging
  /** What was paid for, recorded beside it. */
  readonly operations: Operations
  /** Questions that come together are one query. */
  readonly findAccess: Batcher<AccessQuestion, AccessRow | undefined>
}
