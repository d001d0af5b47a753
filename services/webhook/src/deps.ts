import type { Batcher } from '@svc/batching/batcher.ts'
import type { Charging } from '@svc/charging/charging.ts'
import type { Operations } from '@svc/charging/operations.ts'
import type { ExemptTargets } from '@svc/outbound/webhook-url.ts'
import type { Database } from '@svc/postgres/database.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import type { SecurityLog } from '@svc/telemetry/security-log.ts'
import type { InboxEvent } from './domain/accepted-event.ts'
import type { SecretBox } from './domain/secret-box.ts'

/** Everything that handlers and loops may need. Each picks the parts that it uses. */
export interface WebhookDeps {
  readonly database: Database
  readonly logger: Logger
  readonly security: SecurityLog<'webhook_changed' | 'webhook_deleted'>
  readonly charging: Charging
  /** Records which paid changes took effect, in the transaction of the change. */
  readonly operations: Operations
  readonly secrets: SecretBox
  readonly exemptTargets: ExemptTargets
  /** Says whether an agent has a webhook. Most agents have none, and then their events are not even parsed. */
  readonly isConfigured: Batcher<string, boolean>
  /** Makes a job of an event, if the event needs one. Concurrent events share a transaction. */
  readonly ingest: Batcher<InboxEvent, void>
}
