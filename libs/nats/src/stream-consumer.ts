import type { Consumer, ConsumerMessages, JetStreamManager, JsMsg } from 'nats'
import type { Nats } from './connect.ts'
import { type ConsumerDefinition, ensureConsumer, isMissing } from './streams.ts'

/** An event that one process of a durable consumer was given. */
export interface StreamEvent {
  readonly subject: string
  readonly text: string
  /** How often it has been given to somebody, this time included. */
  readonly deliveries: number
}

/** What becomes of an event: it is done, or comes again after a while, to any process, or never because it cannot be read. */
export type Handled = 'done' | 'again' | 'never'

export interface PullOptions {
  /** Events at most. */
  readonly maxEvents: number
  /** Ends after so long, whether there were any or not. At least 1 s. */
  readonly waitMs: number
  /** Given to each event as it comes; does not throw. */
  readonly handle: (event: StreamEvent) => Promise<Handled>
  readonly signal: AbortSignal
}

/**
 * A process's part in a durable pull consumer. It is used a pull at a time, each with an end of its own: a consumer that
 * is held open can go quiet after a reconnection without a sign (field notes 2.1), a pull ends and the next one finds
 * out. The consumer is made where it does not exist, so it may be lost with its stream.
 */
export class StreamConsumer {
  readonly #nats: Nats
  readonly #manager: JetStreamManager
  readonly #definition: ConsumerDefinition
  #consumer: Consumer | undefined

  private constructor(nats: Nats, manager: JetStreamManager, definition: ConsumerDefinition) {
    this.#nats = nats
    this.#manager = manager
    this.#definition = definition
  }

  static async open(nats: Nats, definition: ConsumerDefinition): Promise<StreamConsumer> {
    return new StreamConsumer(nats, await nats.connection.jetstreamManager({ checkAPI: false }), definition)
  }

  /**
   * Handles what comes until the pull is over, and waits until all of it is handled.
   * @returns false where the stream does not exist yet.
   * @throws Error where the stream or the server is away.
   */
  async pull({ maxEvents, waitMs, handle, signal }: PullOptions): Promise<boolean> {
    const messages = await this.#fetch(maxEvents, waitMs)
    if (messages === undefined) return false
    const handling: Promise<void>[] = []
    const stop = (): void => void messages.close()
    signal.addEventListener('abort', stop)
    try {
      for await (const message of messages) handling.push(answer(message, handle))
    } catch (error) {
      this.#consumer = undefined
      if (!isMissing(error)) throw error
    } finally {
      signal.removeEventListener('abort', stop)
      await Promise.all(handling)
    }
    return true
  }

  /** Events that nobody has finished: not given to anybody yet, or not acknowledged. @throws Error where the stream is away. */
  async lag(): Promise<number> {
    const { stream, config } = this.#definition
    const { num_pending, num_ack_pending } = await this.#manager.consumers.info(stream, config.durable_name)
    return num_pending + num_ack_pending
  }

  async #fetch(maxEvents: number, waitMs: number): Promise<ConsumerMessages | undefined> {
    try {
      this.#consumer ??= await this.#open()
      return await this.#consumer.fetch({ max_messages: maxEvents, expires: waitMs })
    } catch (error) {
      this.#consumer = undefined
      if (isMissing(error)) return undefined
      throw error
    }
  }

  async #open(): Promise<Consumer> {
    const { stream, config } = this.#definition
    await ensureConsumer(this.#manager, this.#definition)
    return this.#nats.connection.jetstream().consumers.get(stream, config.durable_name)
  }
}

const FIRST_DELAY_MS = 500
const MAX_DELAY_MS = 30_000

/** Acknowledges after the work is durable, never before. What is put off waits longer each time. */
async function answer(message: JsMsg, handle: PullOptions['handle']): Promise<void> {
  const deliveries = message.info.deliveryCount
  const handled = await handle({ subject: message.subject, text: message.string(), deliveries })
  if (handled === 'done') message.ack()
  else if (handled === 'never') message.term()
  else message.nak(Math.min(FIRST_DELAY_MS * 2 ** (deliveries - 1), MAX_DELAY_MS))
}
