import type { Batcher } from '@svc/batching/batcher.ts'
import type { Charging } from '@svc/charging/charging.ts'
import type { Operations } from '@svc/charging/operations.ts'
import type { Database } from '@svc/postgres/database.ts'
import type { AccessQuestion, AccessRow } from './store/access.ts'

/** Everything that handlers may need. Each handler picks the parts that it uses. */
export interface BoardsDeps {
  readonly database: Database
  readonly charging: Charging
  /** Records which paid changes took effect, in the transaction of the change. */
  readonly operations: Operations
  /** Concurrent questions share a query. */
  readonly findAccess: Batcher<AccessQuestion, AccessRow | undefined>
}
