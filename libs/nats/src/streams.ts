/** Every JetStream stream and durable consumer of the system, and what each is for. */
import { ACCEPTED_STREAM, ACCEPTED_SUBJECTS } from '@svc/contracts/accepted.ts'
import {
  AckPolicy,
  type ConsumerConfig,
  DeliverPolicy,
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

export interface ConsumerDefinition {
  readonly stream: string
  readonly config: Partial<ConsumerConfig> & { durable_name: string }
}

/** Longer than the work on one event takes; what a dead process was given comes to another after so long. */
const ACK_WAIT_MS = 10_000

/**
 * `webhook`: makes jobs of the events of inboxes, shared by every process of the webhook service. It begins with all that
 * the stream has, because one that was made anew may follow a stream that was: jobs are unique, so what comes again makes none.
 */
export const WEBHOOK_CONSUMER: ConsumerDefinition = {
  stream: ACCEPTED_STREAM,
  config: {
    durable_name: 'webhook',
    filter_subject: 'accepted.*.inbox',
    deliver_policy: DeliverPolicy.All,
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(ACK_WAIT_MS),
    max_deliver: -1,
    // At the limit nobody is given anything (field notes 2.1): more than all processes together work on.
    max_ack_pending: 20_000,
  },
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

/** The durable consumer, made where it does not exist, and brought in line with its definition. Two that do it at once both succeed. */
export async function ensureConsumer(manager: JetStreamManager, { stream, config }: ConsumerDefinition): Promise<void> {
  try {
    const { config: present } = await manager.consumers.info(stream, config.durable_name)
    const isAsDefined = CHANGEABLE.every((name) => present[name] === config[name])
    if (!isAsDefined) await manager.consumers.update(stream, config.durable_name, config)
  } catch (error) {
    if (!isMissing(error)) throw error
    await manager.consumers.add(stream, config)
  }
}

/** What of a consumer's configuration differs from one version to the next. */
const CHANGEABLE = ['ack_wait', 'max_ack_pending', 'max_deliver'] as const

const STREAM_NOT_FOUND = 10059
const CONSUMER_NOT_FOUND = 10014

function isStreamNotFound(error: unknown): boolean {
  return errorCodeOf(error) === STREAM_NOT_FOUND
}

/** The stream or its consumer does not exist, which whoever makes it will change. */
export function isMissing(error: unknown): boolean {
  return [STREAM_NOT_FOUND, CONSUMER_NOT_FOUND].includes(errorCodeOf(error) ?? 0)
}

function errorCodeOf(error: unknown): number | undefined {
  return error instanceof NatsError ? error.api_error?.err_code : undefined
}
