import type { Batcher } from '@svc/batching/batcher.ts'
import type { Charging } from '@svc/charging/charging.ts'
import type { Operations } from '@svc/charging/operations.ts'
import type { Database } from '@svc/postgres/database.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import type { InboxEvent } from './domain/accepted-event.ts'
import type { SecretBox } from './domain/secret-box.ts'
import type { ExemptTargets } from './domain/webhook-url.ts'

/** What the handlers and loops work with; each names the part of it that it needs. */
export interface WebhookDeps {
  readonly database: Database
  readonly logger: Logger
  readonly charging: Charging
  /** What was paid for, recorded beside it. */
  readonly operations: Operations
  readonly secrets: SecretBox
  readonly exemptTargets: ExemptTargets
  /** Whether an agent has a webhook: most have none, and their events are not even parsed. */
  readonly isConfigured: Batcher<string, boolean>
  /** Makes a job of an event, where there is one to be made. Events that come together are one transaction. */
  readonly ingest: Batcher<InboxEvent, void>
}
