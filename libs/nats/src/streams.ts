/** Every JetStream stream and durable consumer of the system, and what each is for. */
import { ACCEPTED_STREAM, ACCEPTED_SUBJECTS } from '@svc/contracts/accepted.ts'
import { DiscardPolicy, type NatsConnection, nanos, RetentionPolicy, StorageType, type StreamConfig } from 'nats'

/**
 * `ACCEPTED`: each log entry once, in the order of its log, for streams and webhooks to follow. Postgres is the truth
 * and the outbox can publish everything of the last day again, so this keeps little and may be lost.
 */
const ACCEPTED: Partial<StreamConfig> & { allow_atomic: boolean } = {
  name: ACCEPTED_STREAM,
  subjects: [ACCEPTED_SUBJECTS],
  retention: RetentionPolicy.Limits,
  storage: StorageType.File,
  discard: DiscardPolicy.Old,
  max_age: nanos(24 * 60 * 60 * 1000),
  // What a publisher repeats after a crash arrives once; consumers are idempotent all the same (field notes 2.1).
  duplicate_window: nanos(2 * 60 * 1000),
  // The outbox publishes a transaction's entries together, acknowledged once.
  allow_atomic: true,
}

/** Makes the stream, or brings it to these settings. `replicas`: 1 on one server, 3 in a cluster. Safe to call again. */
export async function ensureAcceptedStream(connection: NatsConnection, replicas = 1): Promise<void> {
  const manager = await connection.jetstreamManager({ checkAPI: false })
  const config = { ...ACCEPTED, num_replicas: replicas }
  try {
    await manager.streams.add(config)
  } catch (error) {
    if (!isNameInUse(error)) throw error
    await manager.streams.update(ACCEPTED_STREAM, config)
  }
}

/** "stream name already in use" with other settings. */
function isNameInUse(error: unknown): boolean {
  const api = (error as { api_error?: { err_code?: number } }).api_error
  return api?.err_code === 10058
}
