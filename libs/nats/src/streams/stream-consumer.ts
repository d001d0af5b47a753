import { createInbox, type JetStreamManager, type Msg, type NatsConnection, nanos, type Subscription } from 'nats'
import type { Nats } from '../connect.ts'
import { ConnectionWatch } from '../connection/connection-watch.ts'
import { acceptedMsOf } from '../wire/accepted-header.ts'
import { traceOf } from '../wire/trace-header.ts'
import { type StreamManagement, verifyConsumer } from './managed-streams.ts'
import { type ConsumerDefinition, ensureConsumer, isMissing } from './streams.ts'

/** An event that the server delivered to this process. */
export interface StreamEvent {
  readonly subject: string
  readonly text: string
  /** How often the event was delivered to any process, including this time. */
  readonly deliveries: number
  /** The trace of the request that caused the event, if it is traced. */
  readonly traceparent: string | undefined
  /** When the event was accepted, Unix milliseconds, if its publisher says so. */
  readonly acceptedMs: number | undefined
}

/** The outcome of an event: done; `again`, redelivered to any process after a pause; or `never`, because it cannot be read. */
export type Handled = 'done' | 'again' | 'never'

interface StreamConsumerOptions {
  /** Called with each event; must not throw. */
  readonly handle: (event: StreamEvent) => Promise<Handled>
  /** Called when a lost connection is back, so that the next pull can check the stream at once. */
  readonly onBack?: () => void
  /** `verify`: the consumer is managed elsewhere, and is neither created nor changed here. */
  readonly management?: StreamManagement
}

interface PullOptions {
  /** Maximum number of events. */
  readonly maxEvents: number
  /** The pull ends after this time, with or without events. At least 1 s. */
  readonly waitMs: number
  readonly signal: AbortSignal
}

/** Heartbeats that the server sends during a pull while it has no events. */
const HEARTBEATS_PER_PULL = 4
/** A pull ends if it hears nothing for this many heartbeat intervals. */
const MISSED_HEARTBEATS = 2.5
/** A server that dies never answers its pending requests, so they need a timeout. */
const API_TIMEOUT_MS = 2_000
const DRAIN_LIMIT_MS = 1_000

/**
 * A process's part in a durable pull consumer. It makes one pull at a time, and each pull ends. It ends at once if the connection
 * is lost, the consumer is gone or the server is silent. A pull that stays open can go silent without notice (ADR 22). The
 * consumer is created if it does not exist, unless others manage it. So it may be lost together with its stream.
 *
 * Events of all pulls arrive over one subscription that outlives them. The package `nats` would make one for each pull. Then an
 * event that is on its way when its pull ends would reach no process until the server's acknowledgement timeout.
 */
export class StreamConsumer implements AsyncDisposable {
  readonly #connection: NatsConnection
  readonly #definition: ConsumerDefinition
  readonly #options: StreamConsumerOptions
  readonly #inbox: string
  readonly #subscription: Subscription
  readonly #handling = new Set<Promise<void>>()
  readonly #watch: ConnectionWatch
  #pulls = 0
  #current: CurrentPull | undefined
  #isMade = false

  private constructor({ connection, ownInbox }: Nats, definition: ConsumerDefinition, options: StreamConsumerOptions) {
    this.#connection = connection
    this.#definition = definition
    this.#options = options
    this.#inbox = createInbox(ownInbox)
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
    return new StreamConsumer(nats, definition, options)
  }

  /**
   * Takes events until the pull ends, and waits until all of them are handled.
   * @returns false if the stream does not exist yet.
   * @throws Error if the stream or the server is unavailable.
   */
  async pull(options: PullOptions): Promise<boolean> {
    const pull = new CurrentPull(`${this.#inbox}.${++this.#pulls}`, options)
    this.#current = pull
    try {
      return await this.#watch.whileConnected(() => this.#take(pull, options))
    } catch (error) {
      // After any error the next pull checks its consumer again.
      this.#isMade = false
      throw error
    } finally {
      pull.end()
      if (this.#current === pull) this.#current = undefined
      await Promise.all(this.#handling)
    }
  }

  /** The number of unfinished events: not delivered yet, or not acknowledged. @throws Error if the stream is unavailable. */
  async lag(): Promise<number> {
    const { stream, config } = this.#definition
    const { num_pending, num_ack_pending } = await (await this.#manager()).consumers.info(stream, config.durable_name)
    return num_pending + num_ack_pending
  }

  /** Takes no more events, and waits until those already delivered are handled. */
  async [Symbol.asyncDispose](): Promise<void> {
    const limit = Promise.withResolvers<void>()
    const timer = setTimeout(limit.resolve, DRAIN_LIMIT_MS)
    // The drain throws if the connection is gone; then the subscription is gone too.
    await Promise.race([this.#subscription.drain().catch(() => {}), limit.promise])
    clearTimeout(timer)
    await Promise.all(this.#handling)
  }

  /** A new one each time, because the connection may have moved. It sends nothing. */
  #manager(): Promise<JetStreamManager> {
    return this.#connection.jetstreamManager({ checkAPI: false, timeout: API_TIMEOUT_MS })
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
    const ensure = this.#options.management === 'verify' ? verifyConsumer : ensureConsumer
    try {
      await ensure(await this.#manager(), this.#definition)
      this.#isMade = true
      return true
    } catch (error) {
      if (isMissing(error)) return false
      throw error
    }
  }

  /** Events have their own subject. The server's messages about a pull have the subject of the pull's inbox. */
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

  /** Acknowledges an event only after its work is durable. A postponed event waits longer each time. */
  async #answer(message: Msg): Promise<void> {
    const event = new ReceivedEvent(message)
    const handled = await this.#options.handle(event)
    // A closed connection cannot acknowledge, so the event is redelivered to any process.
    if (!this.#connection.isClosed()) message.respond(ACKNOWLEDGEMENTS[handled](event))
  }
}

/** Decodes its fields only when they are read, because most events concern nobody. */
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

  get acceptedMs(): number | undefined {
    return acceptedMsOf(this.#message.headers)
  }
}

/** A pull under way. Counts the events that are left, and ends the pull. */
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
    this.#over.promise.catch(() => {}) // in case it is not awaited
    signal.addEventListener('abort', this.#stop)
  }

  /** @throws Error unless the pull ends because it is complete or its time is over. */
  async untilOver(silenceMs: number): Promise<void> {
    this.#silence = setTimeout(() => this.end(new Error('the consumer is silent')), silenceMs)
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

  /** Handles a heartbeat, or the status that ends the pull. */
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

/** The acknowledgements of JetStream's protocol. */
const ACKNOWLEDGEMENTS: Record<Handled, (event: StreamEvent) => string> = {
  done: () => '+ACK',
  never: () => '+TERM',
  again: ({ deliveries }) => {
    const delayMs = Math.min(FIRST_DELAY_MS * 2 ** (deliveries - 1), MAX_DELAY_MS)
    return `-NAK ${JSON.stringify({ delay: nanos(delayMs) })}`
  },
}

/** From the reply subject: `$JS.ACK.<stream>.<consumer>.<deliveries>.…`, or with domain and account before the stream. */
function deliveriesOf({ reply = '' }: Msg): number {
  const parts = reply.split('.')
  return Number(parts[parts.length > 9 ? 6 : 4] ?? 1)
}
