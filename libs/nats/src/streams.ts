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

const MS_PER_SECOND = 1_000
const TWO_MINUTES_MS = 2 * 60 * 1000

/** How much the stream `ACCEPTED` keeps: whichever of the two is reached first. */
export interface StreamBounds {
  readonly maxBytes: number
  readonly keepSeconds: number
}

/**
 * 6 GiB. NATS lends streams three quarters of a volume unless it is told otherwise, and the manifests' volume has 10 GiB.
 * A day at 80 events/s fits.
 */
export const DEFAULT_STREAM_BOUNDS: StreamBounds = { maxBytes: 6 * 1024 ** 3, keepSeconds: 24 * 60 * 60 }

/**
 * `ACCEPTED`: each log entry once, for streams and webhooks to follow. Postgres is the truth, so this may be lost: the outbox
 * publishes everything of the last day again, and the webhook service looks older entries up in the logs. Past its bounds
 * the stream drops its oldest events, so that new ones never stop. `replicas`: 1 on one server, 3 in a cluster.
 */
export function acceptedStream(
  replicas: number,
  { maxBytes, keepSeconds }: StreamBounds = DEFAULT_STREAM_BOUNDS,
): StreamDefinition {
  const keepMs = keepSeconds * MS_PER_SECOND
  return {
    name: ACCEPTED_STREAM,
    subjects: [ACCEPTED_SUBJECTS],
    num_replicas: replicas,
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    discard: DiscardPolicy.Old,
    max_age: nanos(keepMs),
    max_bytes: maxBytes,
    // What a publisher repeats after a crash arrives once; consumers are idempotent all the same (ADR 20).
    duplicate_window: nanos(Math.min(TWO_MINUTES_MS, keepMs)),
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
    // At the limit nobody is given anything (ADR 22): more than all processes together work on.
    max_ack_pending: 20_000,
  },
}

/** The stream, made where it does not exist. Two that make it at once both succeed. */
export async function ensureStream(manager: JetStreamManager, definition: StreamDefinition): Promise<StreamInfo> {
  try {
    return await manager.streams.info(definition.name)
  } catch (error) {
    if (!isStreamNotFound(error)) throw error
    return await makeStream(manager, definition)
  }
}

/** A stream smaller than this is of no use. */
const LEAST_BYTES = 64 * 1024 ** 2

/** A server without room for the bound gets a stream of half the size: a small stream is better than none. */
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
 * Gives an existing stream the bounds of its definition. A stream without any bound gets half as much, if that is what the server
 * has room for: otherwise it would fill the volume, and then takes no new events.
 * @throws Error where the server has no room for them, and the stream has a bound already.
 */
export async function alignStream(manager: JetStreamManager, definition: StreamDefinition): Promise<void> {
  const { config } = await ensureStream(manager, definition)
  const { max_bytes = -1, max_age = 0, duplicate_window = 0 } = definition
  if (config.max_bytes === max_bytes && config.max_age === max_age) return
  try {
    await manager.streams.update(definition.name, { max_bytes, max_age, duplicate_window })
  } catch (error) {
    if (!isWithoutRoom(error)) throw error
    const half = Math.floor(max_bytes / 2)
    if (config.max_bytes < 0 && half >= LEAST_BYTES)
      return await alignStream(manager, { ...definition, max_bytes: half })
    const message = `NATS has no room for ${max_bytes} bytes of the stream ${definition.name}, which stays at ${config.max_bytes}: enlarge its volume or lower SVC_STREAM_MAX_BYTES`
    throw new Error(message, { cause: error })
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
/** Of one server, and of a cluster, which looks for servers that have room. */
const WITHOUT_ROOM = [10047, 10005]

function isWithoutRoom(error: unknown): boolean {
  return WITHOUT_ROOM.includes(errorCodeOf(error) ?? 0)
}

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
