/** Every JetStream stream and durable consumer of the system, and what each is for. */
import { ACCEPTED_STREAM, ACCEPTED_SUBJECTS } from '@svc/contracts/accepted.ts'
import {
  DiscardPolicy,
  type JetStreamManager,
  NatsError,
  nanos,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
  type StreamInfo,
} from 'nats'

export type StreamDefinition = Partial<StreamConfig> & { name: string; allow_batched?: boolean }

const DAY_MS = 24 * 60 * 60 * 1000
const TWO_MINUTES_MS = 2 * 60 * 1000

/**
 * `ACCEPTED`: each log entry once, for streams and webhooks to follow. Postgres is the truth, and the outbox can publish
 * everything of the last day again, so this keeps a day and may be lost. `replicas`: 1 on one server, 3 in a cluster.
 */
export function acceptedStream(replicas: number): StreamDefinition {
  return {
    name: ACCEPTED_STREAM,
    subjects: [ACCEPTED_SUBJECTS],
    num_replicas: replicas,
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    discard: DiscardPolicy.Old,
    max_age: nanos(DAY_MS),
    // What a publisher repeats after a crash arrives once; consumers are idempotent all the same (field notes 2.1).
    duplicate_window: nanos(TWO_MINUTES_MS),
    // The outbox publishes the entries of a transaction together, acknowledged once.
    allow_batched: true,
  }
}

/** The stream, made where it does not exist. Two that make it at once both succeed. */
export async function ensureStream(manager: JetStreamManager, definition: StreamDefinition): Promise<StreamInfo> {
  try {
    return await manager.streams.info(definition.name)
  } catch (error) {
    if (!isStreamNotFound(error)) throw error
    return await manager.streams.add(definition)
  }
}

const STREAM_NOT_FOUND = 10059

function isStreamNotFound(error: unknown): boolean {
  return error instanceof NatsError && error.api_error?.err_code === STREAM_NOT_FOUND
}
