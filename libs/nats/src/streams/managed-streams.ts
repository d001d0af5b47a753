/**
 * The stream and the consumer if they are managed elsewhere (`SVC_NATS_STREAMS=verify`). The services only compare their settings
 * with the required ones. They neither create nor change them, so their logins need no right to do so.
 */
import type { ConsumerConfig, JetStreamManager, StreamInfo } from 'nats'
import { type ConsumerDefinition, isMissing, type StreamDefinition } from './streams.ts'

/** `create`: the services create and change the stream and the consumer. `verify`: others do, and the services verify them. */
export type StreamManagement = 'create' | 'verify'

type Present = Readonly<Record<string, unknown>>
/** @returns what is wrong with a value; undefined if it is acceptable. */
type Check = (present: unknown, wanted: unknown) => string | undefined

const equal: Check = (present = false, wanted) =>
  JSON.stringify(present) === JSON.stringify(wanted) ? undefined : `must be ${JSON.stringify(wanted)}`
const atLeast: Check = (present, wanted) =>
  Number(present) >= Number(wanted) ? undefined : `must be at least ${String(wanted)}`
/** -1 and 0 mean no bound. */
const unbounded: Check = (present) =>
  Number(present ?? -1) <= 0 ? undefined : 'must be -1, because events would be lost'
const bounded: Check = (present) =>
  Number(present) > 0 ? undefined : 'must be a bound, because a full server accepts no events'

const OF_STREAM: Readonly<Record<string, Check>> = {
  subjects: equal,
  retention: equal,
  storage: equal,
  discard: equal,
  num_replicas: atLeast,
  max_age: atLeast,
  max_bytes: bounded,
  max_msgs: unbounded,
  max_msgs_per_subject: unbounded,
}

const OF_CONSUMER: Readonly<Record<string, Check>> = {
  filter_subject: equal,
  deliver_policy: equal,
  ack_policy: equal,
  max_deliver: equal,
  ack_wait: equal,
  max_ack_pending: atLeast,
}

/** @throws Error that says what to do, if the stream does not exist. */
async function findManagedStream(manager: JetStreamManager, { name }: StreamDefinition): Promise<StreamInfo> {
  return await orMissing(
    () => manager.streams.info(name),
    `the stream ${name} does not exist: make it from deploy/nats/jetstream/${name}.json`,
  )
}

/** @throws Error that names each unsuitable setting. */
export async function verifyStream(manager: JetStreamManager, definition: StreamDefinition): Promise<void> {
  const { config } = await findManagedStream(manager, definition)
  refuse(`the stream ${definition.name}`, faultsOf(OF_STREAM, { ...config }, { ...definition }))
}

/** @throws Error that names each unsuitable setting, or says that the consumer does not exist. */
export async function verifyConsumer(manager: JetStreamManager, { stream, config }: ConsumerDefinition): Promise<void> {
  const name = config.durable_name
  const { config: present }: { config: ConsumerConfig } = await orMissing(
    () => manager.consumers.info(stream, name),
    `the consumer ${name} of the stream ${stream} does not exist: make it from deploy/nats/jetstream/${name}.json`,
  )
  refuse(`the consumer ${name} of the stream ${stream}`, faultsOf(OF_CONSUMER, { ...present }, { ...config }))
}

/** `<setting> is <value>, and must be …` for each unsuitable setting. */
function faultsOf(checks: Readonly<Record<string, Check>>, present: Present, wanted: Present): string[] {
  return Object.entries(checks).flatMap(([setting, check]) => {
    const fault = check(present[setting], wanted[setting])
    return fault === undefined ? [] : [`${setting} is ${JSON.stringify(present[setting] ?? null)}, and ${fault}`]
  })
}

function refuse(what: string, faults: readonly string[]): void {
  if (faults.length > 0) throw new Error(`${what} is managed elsewhere and must be changed: ${faults.join('; ')}`)
}

async function orMissing<T>(read: () => Promise<T>, message: string): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (!isMissing(error)) throw error
    throw new Error(`${message}, or set SVC_NATS_STREAMS=create`, { cause: error })
  }
}
