import type { Database } from '@svc/postgres/database.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import type { Allowances } from './domain/allowances.ts'

/** Dependencies of the calls. */
export interface BudgetDeps {
  readonly database: Database
  readonly logger: Logger
  readonly allowances: Allowances
}
