import { createInbox, type JetStreamManager, type Msg, type NatsConnection, nanos, type Subscription } from 'nats'
import type { Nats } from './connect.ts'
import { ConnectionWatch } from './connection-watch.ts'
import { type ConsumerDefinition, ensureConsumer, isMissing } from './streams.ts'
import { traceOf } from './trace-header.ts'

/** An event that one process of a durable consumer was given. */
export interface StreamEvent {
  readonly subject: string
  readonly text: string
  /** How often it has been given to somebody, this time included. */
  readonly deliveries: number
  /** Of the request that it comes from, where that is traced. */
  readonly traceparent: string | undefined
}

/** What becomes of an event: it is done, or comes again after a while, to any process, or never because it cannot be read. */
export type Handled = 'done' | 'again' | 'never'

export interface StreamConsumerOptions {
  /** Given to each event as it comes; does not throw. */
  readonly handle: (event: StreamEvent) => Promise<Handled>
  /** Called when a lost connection is there again: a pull finds out at once what has become of the stream. */
  readonly onBack?: () => void
}

export interface PullOptions {
  /** Events at most. */
  readonly maxEvents: number
  /** Ends after so long, whether there were any or not. At least 1 s. */
  readonly waitMs: number
  readonly signal: AbortSignal
}

/** Of the server, while it has nothing to give. */
const HEARTBEATS_PER_PULL = 4
/** A pull that hears nothing for so many heartbeats is over. */
const MISSED_HEARTBEATS = 2.5
/** A question that a server took with it when it died is never answered. */
const API_TIMEOUT_MS = 2_000
const DRAIN_LIMIT_MS = 1_000

/**
 * A process's part in a durable pull consumer. It is used a pull at a time, each with an end of its own, which comes at once
 * where the connection is lost, the consumer is gone or the server has fallen silent: one that is held open can go quiet
 * without a sign (ADR 22). The consumer is made where it does not exist, so it may be lost with its stream.
 *
 * What the pulls ask for comes in over one subscription that outlives them. With one of each pull's own, as the package `nats`
 * makes them, an event that is on its way when its pull ends is given to nobody until the server has waited
 * for its acknowledgement.
 */
export class StreamConsumer implements AsyncDisposable {
  readonly #connection: NatsConnection
  readonly #manager: JetStreamManager
  readonly #definition: ConsumerDefinition
  readonly #options: StreamConsumerOptions
  readonly #inbox: string
  readonly #subscription: Subscription
  readonly #handling = new Set<Promise<void>>()
  readonly #watch: ConnectionWatch
  #pulls = 0
  #current: CurrentPull | undefined
  #isMade = false

  private constructor(
    { connection, inboxPrefix }: Nats,
    manager: JetStreamManager,
    definition: ConsumerDefinition,
    options: StreamConsumerOptions,
  ) {
    this.#connection = connection
    this.#manager = manager
    this.#definition = definition
    this.#options = options
    this.#inbox = createInbox(inboxPrefix)
    const callback = (error: Error | null, message: Msg): void => this.#receive(error, message)
    this.#subscription = connection.subscribe(`${this.#inbox}.*`, { callback })
    this.#watch = new ConnectionWatch(connection, (state) => {
      if (state === 'back') options.onBack?.()
    })
  }

  static async open(
    nats: Nats,
    definition: ConsumerDefinition,
    options: StreamConsumerOptions,
  ): Promise<StreamConsumer> {
    const manager = await nats.connection.jetstreamManager({ checkAPI: false, timeout: API_TIMEOUT_MS })
    return new StreamConsumer(nats, manager, definition, options)
  }

  /**
   * Takes what comes until the pull is over, and waits until all of it is handled.
   * @returns false where the stream does not exist yet.
   * @throws Error where the stream or the server is away.
   */
  async pull(options: PullOptions): Promise<boolean> {
    const pull = new CurrentPull(`${this.#inbox}.${++this.#pulls}`, options)
    this.#current = pull
    try {
      return await this.#watch.whileConnected(() => this.#take(pull, options))
    } catch (error) {
      // Whatever it was, the next one makes sure of its consumer.
      this.#isMade = false
      throw error
    } finally {
      pull.end()
      if (this.#current === pull) this.#current = undefined
      await Promise.all(this.#handling)
    }
  }

  /** Events that nobody has finished: not given to anybody yet, or not acknowledged. @throws Error where the stream is away. */
  async lag(): Promise<number> {
    const { stream, config } = this.#definition
    const { num_pending, num_ack_pending } = await this.#manager.consumers.info(stream, config.durable_name)
    return num_pending + num_ack_pending
  }

  /** Takes no more, and waits until what the server had given by then is handled. */
  async [Symbol.asyncDispose](): Promise<void> {
    const limit = Promise.withResolvers<void>()
    const timer = setTimeout(limit.resolve, DRAIN_LIMIT_MS)
    await Promise.race([this.#subscription.drain().catch(() => {}), limit.promise])
    clearTimeout(timer)
    await Promise.all(this.#handling)
  }

  async #take(pull: CurrentPull, { maxEvents, waitMs }: PullOptions): Promise<boolean> {
    if (!(await this.#isThere())) return false
    const { stream, config } = this.#definition
    const heartbeatMs = waitMs / HEARTBEATS_PER_PULL
    const request = { batch: maxEvents, expires: nanos(waitMs), idle_heartbeat: nanos(heartbeatMs) }
    this.#connection.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${config.durable_name}`, JSON.stringify(request), {
      reply: pull.inbox,
    })
    await pull.untilOver(heartbeatMs * MISSED_HEARTBEATS)
    return true
  }

  async #isThere(): Promise<boolean> {
    if (this.#isMade) return true
    try {
      await ensureConsumer(this.#manager, this.#definition)
      this.#isMade = true
      return true
    } catch (error) {
      if (isMissing(error)) return false
      throw error
    }
  }

  /** Events keep their own subject; what the server says of a pull has that pull's. */
  #receive(error: Error | null, message: Msg): void {
    if (error !== null) this.#current?.end(error)
    else if (message.subject.startsWith(this.#inbox)) {
      if (message.subject === this.#current?.inbox) this.#current.hear(message)
    } else {
      const handling = this.#answer(message).finally(() => this.#handling.delete(handling))
      this.#handling.add(handling)
      this.#current?.count()
    }
  }

  /** Acknowledges after the work is durable, never before. What is put off waits longer each time. */
  async #answer(message: Msg): Promise<void> {
    const event = new ReceivedEvent(message)
    const handled = await this.#options.handle(event)
    // On a connection that is closed nothing is acknowledged: the event comes again, to any process.
    if (!this.#connection.isClosed()) message.respond(ACKNOWLEDGEMENTS[handled](event))
  }
}

/** Decoded as far as it is looked into: most events are of nobody's concern. */
class ReceivedEvent implements StreamEvent {
  readonly #message: Msg

  constructor(message: Msg) {
    this.#message = message
  }

  get subject(): string {
    return this.#message.subject
  }

  get text(): string {
    return this.#message.string()
  }

  get deliveries(): number {
    return deliveriesOf(this.#message)
  }

  get traceparent(): string | undefined {
    return traceOf(this.#message.headers)
  }
}

/** A pull under way: how much of it is to come, and its end. */
class CurrentPull {
  readonly inbox: string
  readonly #signal: AbortSignal
  readonly #over = Promise.withResolvers<void>()
  readonly #stop = (): void => this.end()
  #left: number
  #silence: NodeJS.Timeout | undefined

  constructor(inbox: string, { maxEvents, signal }: PullOptions) {
    this.inbox = inbox
    this.#left = maxEvents
    this.#signal = signal
    this.#over.promise.catch(() => {}) // where nobody waits for it
    signal.addEventListener('abort', this.#stop)
  }

  /** @throws Error where it ends for another reason than that enough has come or the time is over. */
  async untilOver(silenceMs: number): Promise<void> {
    this.#silence = setTimeout(() => this.end(new Error('the consumer has gone quiet')), silenceMs)
    if (this.#signal.aborted) this.end()
    await this.#over.promise
  }

  end(error?: Error): void {
    clearTimeout(this.#silence)
    this.#signal.removeEventListener('abort', this.#stop)
    if (error === undefined) this.#over.resolve()
    else this.#over.reject(error)
  }

  count(): void {
    this.#silence?.refresh()
    this.#left -= 1
    if (this.#left === 0) this.end()
  }

  /** A heartbeat, or how the pull has ended. */
  hear({ headers }: Msg): void {
    this.#silence?.refresh()
    const code = headers?.code ?? 0
    if (code === TIME_IS_OVER) this.end()
    else if (code !== HEARTBEAT) this.end(new Error(`JetStream ended a pull: ${code} ${headers?.description ?? ''}`))
  }
}

const HEARTBEAT = 100
const TIME_IS_OVER = 408
const FIRST_DELAY_MS = 500
const MAX_DELAY_MS = 30_000

/** JetStream's own words. */
const ACKNOWLEDGEMENTS: Record<Handled, (event: StreamEvent) => string> = {
  done: () => '+ACK',
  never: () => '+TERM',
  again: ({ deliveries }) => {
    const delayMs = Math.min(FIRST_DELAY_MS * 2 ** (deliveries - 1), MAX_DELAY_MS)
    return `-NAK ${JSON.stringify({ delay: nanos(delayMs) })}`
  },
}

/** From the subject of its acknowledgement: `$JS.ACK.<stream>.<consumer>.<deliveries>.…`, or, with domain and account, two more in front. */
function deliveriesOf({ reply = '' }: Msg): number {
  const parts = reply.split('.')
  return Number(parts[parts.length > 9 ? 6 : 4] ?? 1)
}
