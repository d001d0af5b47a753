import type { JetStreamManager, NatsConnection } from 'nats'
import type { Nats } from '../connect.ts'
import { ConnectionWatch } from '../connection/connection-watch.ts'
import { type StreamManagement, verifyStream } from './managed-streams.ts'
import { alignStream, type StreamDefinition } from './streams.ts'

/** How full a stream is. */
interface StreamSize {
  bytes: number
  /** Past this the stream drops its oldest events. */
  maxBytes: number
}

interface KeptStreamOptions {
  /** `verify`: the stream is managed elsewhere, and is neither created nor changed here. */
  readonly management?: StreamManagement
  /** Called when a lost connection is back. The server may have lost the stream. */
  readonly onBack?: () => void
}

/** A stream that this service keeps in existence, and within the bounds of its definition. */
export class KeptStream {
  readonly #connection: NatsConnection
  readonly #definition: StreamDefinition
  readonly #management: StreamManagement
  readonly #watch: ConnectionWatch

  private constructor(
    { connection }: Nats,
    definition: StreamDefinition,
    { management = 'create', onBack }: KeptStreamOptions,
  ) {
    this.#connection = connection
    this.#definition = definition
    this.#management = management
    this.#watch = new ConnectionWatch(connection, (state) => {
      if (state === 'back') onBack?.()
    })
  }

  static async open(nats: Nats, definition: StreamDefinition, options: KeptStreamOptions = {}): Promise<KeptStream> {
    return new KeptStream(nats, definition, options)
  }

  /** Creates the stream if it does not exist, or gives it the bounds of its definition. If it is managed elsewhere, verifies it. */
  async keep(): Promise<void> {
    const keep = this.#management === 'verify' ? verifyStream : alignStream
    await this.#watch.whileConnected(async () => keep(await this.#manager(), this.#definition))
  }

  /** Removes every event. @throws Error if the stream does not exist or is unavailable. */
  async purge(): Promise<void> {
    await this.#watch.whileConnected(async () => (await this.#manager()).streams.purge(this.#definition.name))
  }

  /** @throws Error if the stream does not exist or is unavailable. */
  async size(): Promise<StreamSize> {
    const { state, config } = await this.#watch.whileConnected(async () =>
      (await this.#manager()).streams.info(this.#definition.name),
    )
    return { bytes: state.bytes, maxBytes: config.max_bytes }
  }

  /** A new one each time, because the connection may have moved. It sends nothing. */
  #manager(): Promise<JetStreamManager> {
    return this.#connection.jetstreamManager({ checkAPI: false })
  }
}
