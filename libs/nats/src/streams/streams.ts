/** Every JetStream stream and durable consumer of the system, with its purpose. */
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

export type StreamDefinition = Partial<StreamConfig> & { name: string }

const MS_PER_SECOND = 1_000

/** The bounds of the stream `ACCEPTED`; the one that is reached first applies. */
export interface StreamBounds {
  readonly maxBytes: number
  readonly keepSeconds: number
}

/**
 * 6 GiB, enough for a day at 80 events/s. By default NATS lets streams use three quarters of a volume, and the volume
 * in the manifests has 10 GiB.
 */
export const DEFAULT_STREAM_BOUNDS: StreamBounds = { maxBytes: 6 * 1024 ** 3, keepSeconds: 24 * 60 * 60 }

/**
 * `ACCEPTED`: the entries of the agents' logs, as they are accepted. Postgres is the source of truth, so this stream may lose
 * any event, or all. The webhook service then makes the jobs from the logs (ADR 13). Past its bounds the stream drops its
 * oldest events, so it always accepts new ones. `replicas`: 1 on one server, 3 in a cluster.
 */
export function acceptedStream(
  replicas: number,
  { maxBytes, keepSeconds }: StreamBounds = DEFAULT_STREAM_BOUNDS,
): StreamDefinition {
  return {
    name: ACCEPTED_STREAM,
    subjects: [ACCEPTED_SUBJECTS],
    num_replicas: replicas,
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    discard: DiscardPolicy.Old,
    max_age: nanos(keepSeconds * MS_PER_SECOND),
    max_bytes: maxBytes,
  }
}

export interface ConsumerDefinition {
  readonly stream: string
  readonly config: Partial<ConsumerConfig> & { durable_name: string }
}

/** Longer than the work on one event. Events that a dead process had are redelivered after this time. */
const ACK_WAIT_MS = 10_000

/**
 * `webhook`: feeds inbox events to the webhook service, which makes jobs from them. All its processes share the consumer.
 * It starts with everything in the stream, because a consumer may be recreated together with its stream. Jobs are
 * unique, so a repeated event makes no second job.
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
    // At this limit the server delivers nothing more (ADR 22). It is more than all processes together work on.
    max_ack_pending: 20_000,
  },
}

/** Gets the stream, and creates it if it does not exist. Concurrent calls all succeed. */
async function ensureStream(manager: JetStreamManager, definition: StreamDefinition): Promise<StreamInfo> {
  try {
    return await manager.streams.info(definition.name)
  } catch (error) {
    if (!isStreamNotFound(error)) throw error
    return await makeStream(manager, definition)
  }
}

/** A smaller stream would be useless. */
const LEAST_BYTES = 64 * 1024 ** 2

/** If the server has no room for the stream, tries half the size, because a small stream is better than none. */
async function makeStream(manager: JetStreamManager, definition: StreamDefinition): Promise<StreamInfo> {
  try {
    return await manager.streams.add(definition)
  } catch (error) {
    const half = Math.floor((definition.max_bytes ?? 0) / 2)
    if (!isWithoutRoom(error) || half < LEAST_BYTES) throw error
    return await makeStream(manager, { ...definition, max_bytes: half })
  }
}

/**
 * Gives an existing stream the bounds of its definition. If the server has no room for them and the stream has no bound
 * yet, it tries half the size. Without a bound the stream would fill the volume and then accept no new events.
 * @throws Error if the server has no room for the bounds, and the stream has a bound already.
 */
export async function alignStream(manager: JetStreamManager, definition: StreamDefinition): Promise<void> {
  const { config } = await ensureStream(manager, definition)
  const { max_bytes = -1, max_age = 0 } = definition
  if (config.max_bytes === max_bytes && config.max_age === max_age) return
  try {
    await manager.streams.update(definition.name, { max_bytes, max_age })
  } catch (error) {
    if (!isWithoutRoom(error)) throw error
    const half = Math.floor(max_bytes / 2)
    if (config.max_bytes < 0 && half >= LEAST_BYTES)
      return await alignStream(manager, { ...definition, max_bytes: half })
    const message = `NATS has no room for ${max_bytes} bytes of the stream ${definition.name}, which stays at ${config.max_bytes}: enlarge its volume or lower SVC_STREAM_MAX_BYTES`
    throw new Error(message, { cause: error })
  }
}

/**
 * Creates the durable consumer if it does not exist, or brings it in line with its definition. Concurrent calls all
 * succeed.
 */
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

/** The settings of a consumer that may change between versions. */
const CHANGEABLE = ['ack_wait', 'max_ack_pending', 'max_deliver'] as const

const STREAM_NOT_FOUND = 10059
const CONSUMER_NOT_FOUND = 10014
/** The first code is that of a single server, the second that of a cluster, which looks for servers with room. */
const WITHOUT_ROOM = [10047, 10005]

function isWithoutRoom(error: unknown): boolean {
  return WITHOUT_ROOM.includes(errorCodeOf(error) ?? 0)
}

function isStreamNotFound(error: unknown): boolean {
  return errorCodeOf(error) === STREAM_NOT_FOUND
}

/** Whether the stream or its consumer does not exist yet. */
export function isMissing(error: unknown): boolean {
  return [STREAM_NOT_FOUND, CONSUMER_NOT_FOUND].includes(errorCodeOf(error) ?? 0)
}

function errorCodeOf(error: unknown): number | undefined {
  return error instanceof NatsError ? error.api_error?.err_code : undefined
}
