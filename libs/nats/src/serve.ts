import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Batcher, createBatcher } from '@svc/batching/batcher.ts'
import { FairQueue } from '@svc/batching/fair-queue.ts'
import type { Call, CallContext, TextCall, TextReply } from '@svc/contracts/define.ts'
import { FAULTS, ServiceError } from '@svc/contracts/errors.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { defineCount, defineDistribution, defineLevel } from '@svc/telemetry/metrics.ts'
import { requestIdOf } from '@svc/telemetry/trace.ts'
import { inSpan, isSampled } from '@svc/telemetry/tracing.ts'
import type { NatsConnection, ServiceMsg } from 'nats'
import type { Nats } from './connect.ts'
import type { ProcessStats } from './process-stats.ts'
import { answeringOnlyInboxes } from './stray-calls.ts'
import { decodeRequest, encodeError, encodeReply, encodeTextReply } from './wire/frames.ts'
import { type SendWindow, sendWindowOf } from './wire/send-window.ts'

/** One call that a service answers, ready to be registered. */
export interface Endpoint {
  readonly subject: string
  /** The name in metrics and traces. */
  readonly name: string
  /** @returns the reply line for the item at `index`. */
  readonly answer: (index: number, request: unknown, context: CallContext) => Promise<string>
  /** Where items wait for their turn. Without it they begin at once. */
  readonly queue?: FairQueue | undefined
}

interface StrangersLimits {
  /** The most concurrent items, e.g. so that they do not take all connections to a database. */
  readonly atOnce: number
  /** The most items that wait; past it an item is `unavailable`. */
  readonly maxWaiting: number
}

/** @param strangers limits a call that strangers can trigger, so that it does not delay the other calls of the process. */
export function handle<Q, R>(
  call: Call<Q, R>,
  handler: (request: Q, context: CallContext) => Promise<R>,
  strangers?: StrangersLimits,
): Endpoint {
  return {
    subject: call.subject,
    name: call.name ?? call.subject,
    queue: strangers && new FairQueue(strangers),
    answer: async (index, request, context) => {
      if (!call.isRequest(request)) throw requestBreach(call.subject)
      return encodeReply(index, await handler(request, context))
    },
  }
}

export function handleText<Q, M>(
  call: TextCall<Q, M>,
  handler: (request: Q, context: CallContext) => Promise<TextReply<M>>,
): Endpoint {
  return {
    subject: call.subject,
    name: call.name ?? call.subject,
    answer: async (index, request, context) => {
      if (!call.isRequest(request)) throw requestBreach(call.subject)
      return encodeTextReply(index, await handler(request, context))
    },
  }
}

interface ServeOptions {
  nats: Nats
  /** The service's name: its queue group, and the name that `nats micro ls` shows. */
  name: string
  version: string
  logger: Logger
  endpoints: Endpoint[]
  /** The statistics that the process reports (process-stats.ts). Default: those of its calls. */
  stats?: () => ProcessStats
  /** Maximum number of concurrent items in this process; past that an item is answered `unavailable` at once. */
  maxInFlight?: number
}

export interface Serving {
  /** The number of items under way. */
  readonly inFlight: number
  /** Takes no more items, and waits until those it has are answered. Other processes of the service take over at once. */
  drain(): Promise<void>
  /** Resolves with the reason if NATS ends the service. One forbidden subscription ends all subscriptions. */
  readonly failed: Promise<Error>
}

const served = defineCount({
  name: 'agentmsg_served_total',
  help: 'Calls that this process has answered, by outcome: ok or the code of the error',
  labels: ['call', 'outcome'],
})
const servedSeconds = defineDistribution({
  name: 'agentmsg_served_seconds',
  help: 'From the arrival of a call to its answer, measured by the service',
  labels: ['call'],
})
const servedWorking = defineLevel({
  name: 'agentmsg_served_working',
  help: 'Calls that this process is working on',
  labels: [],
})

/** An item with less time left than this is refused, because its caller would be gone before the answer. */
const MIN_TIME_LEFT_MS = 5
/** About as many items as one process finishes before their deadlines. Past that the work would be wasted. */
const DEFAULT_MAX_IN_FLIGHT = 2_048
/** Maximum number of characters in one reply message: under the server's max_payload of 1 MiB. */
const MAX_MESSAGE_CHARACTERS = 256 * 1024

/**
 * Serves calls as a NATS micro service, so that `nats micro ls|info|stats` shows it and every process of the service
 * shares the work by queue group. Items of one message are answered separately, in any order, so a slow one delays no other.
 * @throws Error if the user may not listen to one of the subjects, because a service that reports ready must answer.
 */
export async function serve(options: ServeOptions): Promise<Serving> {
  const { nats, name, version, logger, endpoints } = options
  const answering = new Answering(options)
  const service = await answeringOnlyInboxes(nats.connection, name, logger).services.add({
    name,
    version,
    queue: name,
    statsHandler: async () => options.stats?.() ?? answering.stats(),
  })
  for (const endpoint of endpoints) {
    served.startAt0({ call: endpoint.name, outcome: FAULTS })
    service.addEndpoint(endpoint.subject.replaceAll('.', '-'), {
      subject: isOperatorCall(endpoint) ? `${endpoint.subject}.*` : endpoint.subject,
      handler: (error, message) => answering.answerMessage(endpoint, error, message),
    })
  }

  // After the flush the server has the subscriptions, so a service that reports ready can be called.
  await nats.connection.flush()
  let draining = false
  const failed = service.stopped.then((cause) =>
    // Once a drain has begun, a stop is not a failure.
    draining
      ? new Promise<never>(() => {})
      : new Error(`NATS does not let ${name} listen to all of its subjects`, { cause }),
  )
  if (service.isStopped) {
    answering[Symbol.dispose]()
    throw await failed
  }

  return {
    failed,
    get inFlight() {
      return answering.inFlight
    },
    async drain() {
      draining = true
      await service.stop()
      await answering.untilIdle()
      answering[Symbol.dispose]()
    },
  }
}

/**
 * Operators send to `<subject>.<operator>`. NATS lets each publish only under its own name (deploy/nats/users.conf), so the
 * subject says who asks.
 */
function isOperatorCall({ subject }: Endpoint): boolean {
  return subject.startsWith('admin.')
}

/** Answers the items of messages, and counts them. */
class Answering implements Disposable {
  readonly #connection: NatsConnection
  readonly #logger: Logger
  readonly #maxInFlight: number
  readonly #sendWindow: SendWindow
  readonly #working: Disposable
  readonly #total = { calls: 0, failed: 0, seconds: 0 }
  #inFlight = 0
  #onIdle: (() => void)[] = []

  constructor({ nats, logger, maxInFlight = DEFAULT_MAX_IN_FLIGHT }: ServeOptions) {
    this.#connection = nats.connection
    this.#logger = logger
    this.#maxInFlight = maxInFlight
    this.#sendWindow = sendWindowOf(nats.connection)
    this.#working = servedWorking.read(() => [[{}, this.#inFlight]])
  }

  get inFlight(): number {
    return this.#inFlight
  }

  stats(): ProcessStats {
    return { ...this.#total, working: this.#inFlight }
  }

  async untilIdle(): Promise<void> {
    if (this.#inFlight > 0) await new Promise<void>((resolve) => this.#onIdle.push(resolve))
  }

  answerMessage(endpoint: Endpoint, failure: Error | null, message: ServiceMsg): void {
    const { subject } = endpoint
    if (failure !== null) {
      this.#logger.error({ err: failure, subject }, 'subscription failed')
      return
    }
    this.#answerItems(endpoint, message).catch((lost) =>
      this.#logger.error({ err: lost, subject }, 'answers could not be sent'),
    )
  }

  [Symbol.dispose](): void {
    this.#working[Symbol.dispose]()
  }

  async #answerItems(endpoint: Endpoint, message: ServiceMsg): Promise<void> {
    const respond = createResponder(this.#connection, message.reply ?? '')
    const lines = message.string().split('\n')
    const operator = isOperatorCall(endpoint) ? message.subject.slice(endpoint.subject.length + 1) : undefined
    await Promise.all(
      lines.map(async (line, index) => respond(await this.#answerItem(endpoint, line, index, operator))),
    )
  }

  async #answerItem(endpoint: Endpoint, line: string, index: number, operator?: string): Promise<string> {
    const call = endpoint.name
    if (this.#inFlight >= this.#maxInFlight || this.#sendWindow.isFull || endpoint.queue?.isFull === true) {
      served.add({ call, outcome: 'unavailable' })
      return encodeError(index, new ServiceError('unavailable'))
    }
    this.#inFlight += 1
    const beganMs = performance.now()
    let outcome = 'ok'
    let requestId: string | undefined
    try {
      const { request, context: sent } = decodeRequest(line)
      const context = operator === undefined ? sent : { ...sent, operator }
      requestId = requestIdOf(context.traceparent)
      if (endpoint.queue === undefined) return await this.#answerInTime(endpoint, index, request, context)
      return await endpoint.queue.runInTurn({ key: call }, async () => {
        await nextTurn() // other work runs between two of these
        return this.#answerInTime(endpoint, index, request, context)
      })
    } catch (error) {
      const known = this.#asServiceError(error, endpoint.subject, requestId)
      outcome = known.code
      return encodeError(index, known)
    } finally {
      served.add({ call, outcome })
      const seconds = (performance.now() - beganMs) / 1_000
      servedSeconds.observe({ call }, seconds)
      this.#total.calls += 1
      this.#total.seconds += seconds
      if (outcome === 'internal' || outcome === 'unavailable') this.#total.failed += 1
      this.#inFlight -= 1
      if (this.#inFlight === 0) for (const resolve of this.#onIdle.splice(0)) resolve()
    }
  }

  #answerInTime(endpoint: Endpoint, index: number, request: unknown, context: CallContext): Promise<string> {
    if (context.deadlineMs - Date.now() < MIN_TIME_LEFT_MS)
      throw new ServiceError('unavailable', { cause: new Error('the call arrived too late to be answered in time') })
    if (!isSampled(context.traceparent)) return endpoint.answer(index, request, context)
    const options = { kind: 'server', parent: context.traceparent } as const
    return inSpan(endpoint.name, options, (traceparent) => endpoint.answer(index, request, { ...context, traceparent }))
  }

  #asServiceError(error: unknown, subject: string, requestId: string | undefined): ServiceError {
    const known = error instanceof ServiceError ? error : new ServiceError('internal', { cause: error })
    if (known.code === 'internal') this.#logger.error({ err: known, subject, request_id: requestId }, 'call failed')
    else if (known.code === 'unavailable')
      this.#logger.warn({ err: known, subject, request_id: requestId }, 'call unavailable')
    return known
  }
}

/** Sends answers that become ready in the same tick as one message. */
function createResponder(connection: NatsConnection, reply: string): Batcher<string, void> {
  const window = sendWindowOf(connection)
  const publish = (text: string): void => {
    window.countSent(text.length)
    connection.publish(reply, text)
  }
  return createBatcher<string, void>({
    run: async (lines) => {
      let from = 0
      let characters = 0
      for (let at = 0; at < lines.length; at += 1) {
        const length = lines[at]?.length ?? 0
        if (at > from && characters + length > MAX_MESSAGE_CHARACTERS) {
          publish(lines.slice(from, at).join('\n'))
          from = at
          characters = 0
        }
        characters += length
      }
      publish(lines.slice(from).join('\n'))
      return lines.map(() => undefined)
    },
  })
}

function requestBreach(subject: string): ServiceError {
  return new ServiceError('internal', { cause: new Error(`a request on ${subject} breaks its contract`) })
}
