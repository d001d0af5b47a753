import { type Batcher, createBatcher } from '@svc/batching/batcher.ts'
import type { Call, CallContext, TextCall, TextReply } from '@svc/contracts/define.ts'
import { FAULTS, isDefinite, ServiceError } from '@svc/contracts/errors.ts'
import { defineCount, defineDistribution, defineLevel } from '@svc/telemetry/metrics.ts'
import { inSpan, isSampled } from '@svc/telemetry/tracing.ts'
import type { Msg } from 'nats'
import type { Nats } from './connect.ts'
import { decodeReply, encodeRequest, type ReplyLine } from './wire/frames.ts'
import { calleeOf, openInbox } from './wire/inbox.ts'
import { type SendWindow, sendWindowOf } from './wire/send-window.ts'

/** Calls other services. Concurrent calls to one subject share a NATS message. */
export interface Bus {
  /**
   * @throws ServiceError the error of the service, or `unavailable`. Either no process serves the subject, and nothing was done.
   *   Or no answer came by the context's deadline, and the outcome is unknown; calls are idempotent by key.
   */
  call<Q, R>(call: Call<Q, R>, request: Q, context: CallContext): Promise<R>
  callText<Q, M>(call: TextCall<Q, M>, request: Q, context: CallContext): Promise<TextReply<M>>
  /** The number of calls that wait for an answer. */
  readonly inFlight: number
}

const calls = defineCount({
  name: 'agentmsg_calls_total',
  help: 'Ended calls to other services, by outcome: ok or the code of the error',
  labels: ['call', 'outcome'],
})
const callSeconds = defineDistribution({
  name: 'agentmsg_call_seconds',
  help: 'From a call to its answer, measured by the caller',
  labels: ['call'],
})
const callMessages = defineCount({
  name: 'agentmsg_call_messages_total',
  help: 'NATS messages that calls were sent in; several calls share one',
  labels: ['call'],
})
const callsWaiting = defineLevel({
  name: 'agentmsg_calls_waiting',
  help: 'Calls without an answer yet',
  labels: [],
})

/** Maximum number of unanswered calls of one process; past that a call is refused at once. */
const MAX_IN_FLIGHT = 20_000
/** Maximum number of request characters in one NATS message: under the server's max_payload of 1 MiB, with room for one more item. */
const MAX_MESSAGE_CHARACTERS = 256 * 1024
/**
 * Maximum number of unanswered messages on one subject. Later calls share the next message. A message without an answer for
 * `SLOW_ROUND_MS` no longer counts, so a slow item does not delay the others.
 */
const ROUNDS_PER_SUBJECT = 2
const SLOW_ROUND_MS = 50
/** Deadlines are checked at this interval while calls wait, with one timer for all of them. */
const SWEEP_INTERVAL_MS = 50

/** The part of a call that is needed to send it. */
type AnyCall = Pick<Call<never, never>, 'subject' | 'name'>

interface Waiting {
  resolve: (line: ReplyLine) => void
  reject: (error: unknown) => void
  deadlineMs: number
}

/** A message under way. */
interface Round {
  /** Its items that have no answer yet, by index. */
  waiting: Map<number, Waiting>
  sentMs: number
  /** Lets the next message on the subject leave. */
  release: () => void
}

interface Outgoing extends Waiting {
  line: string
}

export function createBus(nats: Nats): Bus & Disposable {
  return new NatsBus(nats)
}

class NatsBus implements Bus, Disposable {
  readonly #connection: Nats['connection']
  readonly #inbox: ReturnType<typeof openInbox>
  readonly #sendWindow: SendWindow
  /** Messages under way, by reply subject. */
  readonly #rounds = new Map<string, Round>()
  /** By subject. */
  readonly #batchers = new Map<string, Batcher<Outgoing, void>>()
  readonly #running = new DisposableStack()
  #inFlight = 0
  #sweep: NodeJS.Timeout | undefined

  constructor(nats: Nats) {
    const { connection } = nats
    this.#connection = connection
    this.#inbox = openInbox(nats)
    this.#sendWindow = sendWindowOf(connection)
    const callback = (_error: unknown, message: Msg): void => this.#receive(message)
    this.#running.adopt(connection.subscribe(this.#inbox.pattern, { callback }), (calls) => calls.unsubscribe())
    this.#running.use(callsWaiting.read(() => [[{}, this.#inFlight]]))
  }

  get inFlight(): number {
    return this.#inFlight
  }

  async call<Q, R>(call: Call<Q, R>, request: Q, context: CallContext): Promise<R> {
    const line = await this.#ask(call, request, context)
    if (line.kind !== 'json' || !call.isReply(line.reply) || !call.isAnswerTo(request, line.reply))
      throw contractBreach(call.subject)
    return line.reply
  }

  async callText<Q, M>(call: TextCall<Q, M>, request: Q, context: CallContext): Promise<TextReply<M>> {
    const line = await this.#ask(call, request, context)
    if (line.kind !== 'text') throw contractBreach(call.subject)
    const { meta, text } = line.reply
    if (!call.isReply(meta) || !call.isAnswerTo(request, meta)) throw contractBreach(call.subject)
    return { meta, text }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#sweep)
    this.#sweep = undefined
    this.#running[Symbol.dispose]()
  }

  #ask(call: AnyCall, request: unknown, context: CallContext): Promise<ReplyLine> {
    const name = call.name ?? call.subject
    if (!isSampled(context.traceparent)) return this.#askMeasured(name, call.subject, request, context)
    const options = { kind: 'client', parent: context.traceparent } as const
    return inSpan(name, options, (traceparent) =>
      this.#askMeasured(name, call.subject, request, { ...context, traceparent }),
    )
  }

  #askMeasured(name: string, subject: string, request: unknown, context: CallContext): Promise<ReplyLine> {
    const beganMs = performance.now()
    return this.#enqueueCall(subject, name, request, context).then(
      (line) => {
        calls.add({ call: name, outcome: 'ok' })
        callSeconds.observe({ call: name }, (performance.now() - beganMs) / 1_000)
        return line
      },
      (error: unknown) => {
        calls.add({ call: name, outcome: error instanceof ServiceError ? error.code : 'internal' })
        callSeconds.observe({ call: name }, (performance.now() - beganMs) / 1_000)
        throw withCall(name, error)
      },
    )
  }

  #enqueueCall(subject: string, name: string, request: unknown, context: CallContext): Promise<ReplyLine> {
    const obstacle = this.#obstacleTo(context)
    if (obstacle !== undefined) return Promise.reject(new ServiceError('unavailable', { cause: new Error(obstacle) }))
    this.#inFlight += 1
    return new Promise<ReplyLine>((resolve, reject) => {
      const outgoing = { line: encodeRequest(request, context), resolve, reject, deadlineMs: context.deadlineMs }
      this.#batcherOf(subject, name)(outgoing).catch(reject)
    }).finally(() => {
      this.#inFlight -= 1
    })
  }

  #obstacleTo({ deadlineMs }: CallContext): string | undefined {
    if (this.#inFlight >= MAX_IN_FLIGHT) return 'too many calls are under way'
    if (this.#sendWindow.isFull) return 'the link to NATS is silent'
    return deadlineMs <= Date.now() ? 'no time is left' : undefined
  }

  #batcherOf(subject: string, name: string): Batcher<Outgoing, void> {
    let batcher = this.#batchers.get(subject)
    if (batcher === undefined) {
      calls.startAt0({ call: name, outcome: FAULTS })
      batcher = createBatcher<Outgoing, void>({
        gathers: true,
        concurrency: ROUNDS_PER_SUBJECT,
        maxWaiting: MAX_IN_FLIGHT,
        run: async (items) => {
          await Promise.all(groupBySize(items).map((group) => this.#sendMessage(subject, name, group)))
          return items.map(() => undefined)
        },
      })
      this.#batchers.set(subject, batcher)
    }
    return batcher
  }

  /** Sends one message. Settles when the first answer has come, or the message is given up. */
  #sendMessage(subject: string, name: string, items: Outgoing[]): Promise<void> {
    callMessages.add({ call: name })
    const reply = this.#inbox.replyFrom(calleeOf(subject))
    return new Promise((release) => {
      const waiting = new Map(items.map((item, index) => [index, item]))
      this.#rounds.set(reply, { waiting, sentMs: Date.now(), release })
      this.#sweep ??= setInterval(() => this.#expireCalls(), SWEEP_INTERVAL_MS).unref()
      try {
        if (this.#connection.isClosed()) throw new Error('the connection to NATS is closed')
        const text = items.map((item) => item.line).join('\n')
        this.#sendWindow.countSent(text.length)
        this.#connection.publish(subject, text, { reply })
      } catch (error) {
        this.#failRound(reply, new ServiceError('unavailable', { cause: error }))
      }
    })
  }

  #receive(message: Msg): void {
    const round = this.#rounds.get(message.subject)
    if (round === undefined) return
    round.release()
    if (message.headers?.code === 503) {
      this.#failRound(message.subject, new ServiceError('unavailable', { cause: new Error('no responders') }))
      return
    }
    for (const text of message.string().split('\n')) {
      try {
        const line = decodeReply(text)
        const waiting = round.waiting.get(line.index)
        if (waiting === undefined) continue
        round.waiting.delete(line.index)
        if (line.kind === 'error') waiting.reject(line.error)
        else waiting.resolve(line)
      } catch (error) {
        this.#failRound(message.subject, new ServiceError('internal', { cause: error }))
        return
      }
    }
    if (round.waiting.size === 0) this.#rounds.delete(message.subject)
  }

  #failRound(reply: string, error: ServiceError): void {
    const round = this.#rounds.get(reply)
    if (round === undefined) return
    this.#rounds.delete(reply)
    round.release()
    for (const waiting of round.waiting.values()) waiting.reject(error)
  }

  #expireCalls(): void {
    const now = Date.now()
    for (const [reply, round] of this.#rounds) {
      if (now - round.sentMs >= SLOW_ROUND_MS) round.release()
      for (const [index, waiting] of round.waiting) {
        if (waiting.deadlineMs > now) continue
        round.waiting.delete(index)
        waiting.reject(new ServiceError('unavailable', { cause: new Error('no answer in time') }))
      }
      if (round.waiting.size > 0) continue
      this.#rounds.delete(reply)
      round.release() // no later sweep finds it
    }
    if (this.#rounds.size > 0) return
    clearInterval(this.#sweep)
    this.#sweep = undefined
  }
}

function groupBySize(items: Outgoing[]): Outgoing[][] {
  const groups: Outgoing[][] = []
  let group: Outgoing[] = []
  let characters = 0
  for (const item of items) {
    if (group.length > 0 && characters + item.line.length > MAX_MESSAGE_CHARACTERS) {
      groups.push(group)
      group = []
      characters = 0
    }
    group.push(item)
    characters += item.line.length
  }
  if (group.length > 0) groups.push(group)
  return groups
}

/** Names the call in the cause of a fault, for the log: the text of the fault itself is meant for clients. */
function withCall(call: string, error: unknown): unknown {
  if (!(error instanceof ServiceError) || isDefinite(error)) return error
  const { code, detail, retryAfterSeconds, cause } = error
  return new ServiceError(code, {
    ...(detail === undefined ? {} : { detail }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    cause: cause === undefined ? new Error(`${call} answered ${code}`) : new Error(call, { cause }),
  })
}

function contractBreach(subject: string): ServiceError {
  return new ServiceError('internal', { cause: new Error(`an answer on ${subject} breaks its contract`) })
}
