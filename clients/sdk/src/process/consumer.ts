/** `AgentClient.process`: handles the messages of an agent, and sends the answers, even if the process is killed at any moment. */
import type { ErrorCode } from '@svc/contracts/errors.ts'
import type { Envelope, Event, Lane, Message, SendResult } from '@svc/contracts/resources.ts'
import type { EnvelopeType } from '@svc/envelope/envelope.ts'
import { ApiError, EventGapError, isCode, StoreError, VerificationError } from '../errors.ts'
import type { EventGap } from '../events/event-listing.ts'
import type { StreamOptions } from '../events/event-stream.ts'
import type { CallOptions, ComposeOptions } from '../http/options.ts'
import { linkAbort } from '../http/waiting.ts'
import { Lines } from '../lines.ts'
import { draftAnswer, ErrorAnswer, type Received } from '../messages/answer.ts'
import { jsonBody } from '../messages/body.ts'
import type { Draft } from '../messages/compose.ts'
import { postKept } from '../messages/post-kept.ts'
import type { Store } from '../store/store.ts'
import { type Answer, type Entry, Journal } from './journal.ts'
import { delayAfter, isFatal, isPassing } from './waits.ts'

export interface HandlerContext {
  /** Aborted when the consumer stops. A handler that then throws is not counted as a failed attempt. */
  readonly signal: AbortSignal
  /** From 1, counted over all processes with this store. */
  readonly attempt: number
  readonly cursor: number
  /** The event that brought the message. Its `kind` is the lane at that time. */
  readonly event: Event
}

/** A message that was given up. */
export interface DeadLetter {
  readonly reason: string
  /** Attempts of the handler. */
  readonly attempts: number
  readonly cursor: number
  readonly id: string
  /** Absent if the message was handled, and the answer was refused by a later process. */
  readonly event?: Event | undefined
  /** The answer that the service refused. */
  readonly answer?: Answer | undefined
  /** What the handler threw. Not in the store. */
  readonly error?: unknown
}

export interface ProcessOptions extends CallOptions, Pick<StreamOptions, 'onRetry' | 'onDisconnect' | 'onReconnect'> {
  /**
   * Handles one message. The value that it returns is the body of the answer. Undefined: no answer. See `ErrorAnswer`. It runs
   * at least once for each message, and again if it throws or its process is killed.
   */
  readonly handle: (message: Received, context: HandlerContext) => unknown
  /** Keeps what survives the process. Default: the store of the client, or else memory. */
  readonly store?: Store | undefined
  /** Default `inbox`. `requests` are first messages of strangers. `board` needs `boards`. */
  readonly lanes?: readonly Lane[] | undefined
  /** The boards whose posts are handled, as `board:<id>`. Any agent can make another one the reader of its board. */
  readonly boards?: readonly string[] | undefined
  /** Default `request` and `event`: two agents that answered each other's responses would not stop. */
  readonly types?: readonly EnvelopeType[] | undefined
  /** Where a new store begins: after this cursor, or at the `end`. Default 0: with everything that is not acknowledged. */
  readonly after?: number | 'end' | undefined
  /** The most handlers at a time. Messages of one sender are handled one after the other. 1 keeps the order of all. Default 4. */
  readonly parallel?: number | undefined
  /** Whether messages of one sender may be handled at the same time, in any order. Default false. */
  readonly anyOrder?: boolean | undefined
  /** Attempts for each message before it becomes a dead letter. Default 5. */
  readonly attempts?: number | undefined
  /** Accept the sender of a request as a contact before it is answered. One unit each. Default false. */
  readonly accept?: boolean | undefined
  /** Acknowledge handled messages. Default true. */
  readonly acknowledge?: boolean | undefined
  /** End after this many messages. */
  readonly count?: number | undefined
  /** Opens a message instead of `AgentClient.openMessage`. Undefined ignores it. A VerificationError makes it a dead letter. */
  readonly open?: ((message: Message, options: CallOptions) => Promise<Received | undefined>) | undefined
  /** Called with the cursor after which it begins. The store has it. */
  readonly onStart?: ((cursor: number) => void) | undefined
  /** An attempt failed. */
  readonly onFailure?: ((failure: { message: Received; error: unknown; attempt: number }) => void) | undefined
  /** A message is handled, its answer sent, and it is acknowledged. */
  readonly onFinished?: ((message: { id: string; cursor: number }) => void) | undefined
  /** A call waits for an outage or a limit to end: an answer, an acknowledgement, or a look-up. */
  readonly onWait?: ((wait: { id: string; failure: unknown; delayMs: number }) => void) | undefined
  /** A message was given up. It is in the store under `dead-letters/`, and stays unacknowledged. Awaited. */
  readonly onDeadLetter?: ((letter: DeadLetter) => void | Promise<void>) | undefined
  /** Events were gone before they were read. */
  readonly onGap?: ((gap: EventGap) => void) | undefined
}

/** What the consumer needs of a client. */
export interface ConsumerDeps {
  readonly stream: (options: StreamOptions) => AsyncIterable<Event>
  readonly latestCursor: (options: CallOptions) => Promise<number>
  readonly openMessage: (message: Message, options: CallOptions) => Promise<Received>
  readonly compose: (draft: Draft, options: ComposeOptions) => Promise<Envelope>
  readonly post: (envelope: Envelope, options: CallOptions) => Promise<SendResult>
  readonly ack: (id: string, options: CallOptions) => Promise<unknown>
  readonly acceptReplies: (who: string, options: CallOptions) => Promise<unknown>
  /** The key to seal an answer for. */
  readonly sealFor: (message: Received) => string | true
  /** The id of the answer to a message, which nobody else can foresee. */
  readonly answerId: (id: string) => string
  /** The same text for every form of `from` of one sender, and of the address for the answer. */
  readonly lineOf: (who: string) => Promise<string>
  readonly owner: (options: CallOptions) => Promise<{ agentId: string; authority: string }>
  readonly sleep: (ms: number, signal: AbortSignal | undefined) => Promise<void>
  readonly random: () => number
  readonly warn: (message: string) => void
}

const ID = /^[A-Za-z0-9_-]{8,80}$/
/** Messages that are read ahead of the handlers, for each of them, so that one sender with many messages does not stop the others. */
const AHEAD = 16
/** The most that are read ahead, with those that wait for another attempt of an earlier message of their sender. */
const MAX_AHEAD = 1_000
/** Answers that are posted at the same time. Those that wait for a limit do not count. */
const MAX_CALLS = 8
/** Beyond this number of unsent answers no further message is handled, so that the store stays bounded. */
const MAX_UNSENT = 1_000
/**
 * Beyond this number, somebody whom no answer can reach has at most this many waiting, and the rest is given up. So a stranger who
 * never accepts the agent cannot stop it for the others.
 */
const MANY_UNSENT = MAX_UNSENT / 2
const MAX_STUCK = 10
/** These concern the recipient. A limit of units and an outage concern every answer. */
const STUCK_CODES: readonly ErrorCode[] = ['request_pending', 'introduction_limit_reached']

export class Consumer {
  readonly #deps: ConsumerDeps
  readonly #options: ProcessOptions
  readonly #journal: Journal
  readonly #store: Store
  readonly #handlers: Lines
  readonly #senders: Lines
  readonly #broken = new AbortController()
  readonly #calls = new Lines(MAX_CALLS)
  readonly #queued = new Set<string>()
  /** The lines of recipients whom no answer can reach at the moment. */
  readonly #stuck = new Set<string>()
  /** Messages that an earlier process was killed with. One of them may have killed it. */
  readonly #suspects: Map<string, number>
  #nextCall = 0

  private constructor(deps: ConsumerDeps, options: ProcessOptions, store: Store, journal: Journal) {
    this.#deps = deps
    this.#options = options
    this.#store = store
    this.#journal = journal
    this.#suspects = journal.interrupted
    this.#handlers = new Lines(this.#places)
    this.#senders = new Lines(Number.POSITIVE_INFINITY)
  }

  /** Runs until the signal aborts, `count` messages are finished, or nothing can succeed any more. */
  static async run(deps: ConsumerDeps, options: ProcessOptions, store: Store): Promise<void> {
    const { after = 0, signal } = options
    const begin = async (): Promise<number> => (after === 'end' ? deps.latestCursor({ signal }) : after)
    const journal = await Journal.open(store, await deps.owner({ signal }), begin)
    options.onStart?.(journal.cursor)
    await new Consumer(deps, options, store, journal).#run()
  }

  async #run(): Promise<void> {
    const { signal } = this.#options
    const unlink = linkAbort(signal, () => this.#broken.abort(signal?.reason))
    try {
      for (const entry of this.#journal.unsent) await this.#dispatch(entry)
      await this.#read()
    } catch (error) {
      this.#broken.abort(error)
    } finally {
      // In this order, because handlers add to the senders.
      await this.#handlers.idle()
      await this.#senders.idle()
      unlink()
    }
    if (this.#broken.signal.aborted && signal?.aborted !== true) throw this.#broken.signal.reason
    await this.#journal.save()
  }

  /** Aborted when the consumer must stop, by its user or by a failure. */
  get #signal(): AbortSignal {
    return this.#broken.signal
  }

  /** As long as there are suspects, one message at a time is handled, so that no other one is taken for the culprit. */
  get #places(): number {
    return this.#suspects.size > 0 ? 1 : (this.#options.parallel ?? 4)
  }

  #acquit(id: string): void {
    if (this.#suspects.delete(id)) this.#handlers.resize(this.#places)
  }

  async #read(): Promise<void> {
    const { onGap, onRetry, onDisconnect, onReconnect, count = Number.POSITIVE_INFINITY } = this.#options
    const signal = this.#signal
    const onCursor = (cursor: number): void =>
      void this.#journal.pass(cursor, true).catch((error) => this.#broken.abort(error))
    let { cursor: after } = this.#journal
    let left = count
    while (left > 0) {
      try {
        const hooks = { onRetry, onDisconnect, onReconnect, onCursor }
        for await (const event of this.#deps.stream({ after, signal, ...hooks })) {
          after = event.cursor
          if (await this.#take(event)) left -= 1
          if (left === 0) return
          await this.#room()
          signal.throwIfAborted()
        }
      } catch (error) {
        if (!(error instanceof EventGapError)) throw error
        if (onGap) onGap({ after: error.after, earliest: error.earliest })
        else this.#deps.warn(`${error.message}, so they were not handled`)
        after = error.earliest - 1
        await this.#journal.pass(after, true)
      }
    }
  }

  /** Waits until a further message can be taken. */
  async #room(): Promise<void> {
    const { parallel = 4 } = this.#options
    // With one handler, nothing is read ahead, so that `count` and an interrupt leave the rest untouched.
    const ahead = parallel === 1 ? 1 : parallel * AHEAD
    const isFull = (): boolean => this.#handlers.ready >= ahead || this.#handlers.size >= MAX_AHEAD
    while (isFull() && !this.#signal.aborted) await this.#handlers.change()
    while (this.#journal.unsentCount >= MAX_UNSENT && !this.#signal.aborted) await this.#senders.change()
  }

  /** @returns whether the event is to be handled. */
  async #take(event: Event): Promise<boolean> {
    const { id, from } = event.message.envelope
    const isNew = this.#isWanted(event) && !this.#queued.has(id) && !this.#journal.isHandled(id)
    if (!isNew) {
      await this.#journal.pass(event.cursor)
      return false
    }
    for (const [suspect, at] of this.#suspects)
      if (at < event.cursor && !this.#queued.has(suspect)) this.#acquit(suspect)
    const line = this.#options.anyOrder === true ? id : await this.#deps.lineOf(from)
    this.#journal.take(event.cursor)
    this.#queued.add(id)
    this.#handlers.add(line, async () => {
      try {
        if (!this.#signal.aborted) await this.#handle(event, line)
      } catch (error) {
        this.#broken.abort(error)
      } finally {
        this.#queued.delete(id)
        this.#acquit(id)
      }
    })
    return true
  }

  #isWanted({ kind, message }: Event): boolean {
    const { lanes = ['inbox'], types = ['request', 'event'], boards = [], acknowledge = true } = this.#options
    const { to, type } = message.envelope
    if (!lanes.includes(kind) || !types.includes(type)) return false
    // A post is one by its signed `to`. The kind is only what the service says.
    if (kind === 'board' || to.startsWith('board:')) return kind === 'board' && boards.includes(to)
    // It was finished, by this program or by another one of the agent.
    return !(acknowledge && message.acked)
  }

  async #handle(event: Event, line: string): Promise<void> {
    const { attempts = 5, parallel = 4, acknowledge = true, onFailure } = this.#options
    // With one handler, the order of all is kept, so the others wait too.
    const rest: Rest = (wait) => (parallel === 1 ? wait : this.#handlers.rest(line, wait))
    const { cursor, kind, message } = event
    const { id } = message.envelope
    if (!ID.test(id)) return this.#buryUnnamed(event)
    const begin = (): Promise<number> => this.#journal.begin({ id, cursor, acks: acknowledge && kind !== 'board' })
    const received = await this.#open(event, rest)
    if (received === undefined) return
    let waits = 0
    for (;;) {
      const attempt = await begin()
      if (attempt > attempts)
        return this.#bury(event, { reason: 'the process was killed during the last attempt', attempts: attempt - 1 })
      let answer: Answer | null
      try {
        const result = await this.#call(received, { signal: this.#signal, attempt, cursor, event })
        answer = this.#answerOf(received, result)
      } catch (error) {
        if (this.#signal.aborted) return this.#journal.giveBack(id)
        this.#acquit(id)
        if (isPassing(error) && !isCode(error, 'request_pending')) {
          // The handler called the service, which is not available or has a limit. That says nothing about the message. A
          // request that somebody does not answer can wait for ever, so it counts.
          await this.#journal.giveBack(id)
          waits += 1
          if (!(await rest(this.#wait(id, error, waits)))) return
          continue
        }
        onFailure?.({ message: received, error, attempt })
        if (attempt >= attempts) return this.#bury(event, { reason: reasonOf(error), attempts: attempt, error })
        if (!(await rest(this.#pause(delayAfter(error, attempt, this.#deps.random()))))) return
        continue
      }
      await this.#journal.handled(id, answer, await this.#composeEarly(answer))
      return this.#dispatch(this.#journal.find(id))
    }
  }

  /** The result of the handler, which may also throw an `ErrorAnswer`. */
  async #call(received: Received, context: HandlerContext): Promise<unknown> {
    try {
      return await this.#options.handle(received, context)
    } catch (error) {
      if (error instanceof ErrorAnswer) return error
      throw error
    }
  }

  /** @returns undefined if there is nothing more to do for the event, or the consumer stops. */
  async #open(event: Event, rest: Rest): Promise<Received | undefined> {
    const open = this.#options.open ?? this.#deps.openMessage
    const { id } = event.message.envelope
    try {
      const received = await this.#persist(id, () => open(event.message, { signal: this.#signal }), rest)
      if (received === STOPPED) return undefined
      if (received === undefined) await this.#ignore(event)
      return received
    } catch (error) {
      if (!(error instanceof VerificationError)) throw error
      await this.#bury(event, { reason: `not verified: ${error.message}`, attempts: 0, error })
      return undefined
    }
  }

  /** Undefined if there is nothing to compose, or it fails: then `#send` composes the answer, and meets the failure again. */
  async #composeEarly(answer: Answer | null): Promise<Envelope | undefined> {
    if (answer === null) return undefined
    const { draft, seal } = answer
    return this.#deps.compose(draft, { seal, signal: this.#signal }).catch(() => undefined)
  }

  #answerOf(message: Received, result: unknown): Answer | null {
    if (result === undefined) return null
    const [body, type] = result instanceof ErrorAnswer ? [result.body, 'error' as const] : [result, 'response' as const]
    const draft = { ...draftAnswer(message, jsonBody(body), type), id: this.#deps.answerId(message.id) }
    const isRequest = message.message.lane === 'requests'
    const accept = this.#options.accept === true && isRequest ? message.sender?.agentId : undefined
    return { draft, seal: message.sealed && this.#deps.sealFor(message), ...(accept === undefined ? {} : { accept }) }
  }

  /** Sends the answer of a handled message, after the earlier answers to the same recipient, and acknowledges the message. */
  async #dispatch(entry: Entry | undefined): Promise<void> {
    if (entry === undefined) return
    const { answer, id, cursor, attempts } = entry
    const line = answer ? await this.#deps.lineOf(answer.draft.to) : id
    const isStuck = this.#stuck.has(line) && this.#senders.count(line) >= MAX_STUCK
    if (answer && isStuck && this.#journal.unsentCount > MANY_UNSENT) {
      const reason = 'the answer cannot be sent: too many answers wait, and the recipient takes none at the moment'
      return this.#buryEntry({ id, cursor, reason, attempts, answer })
    }
    this.#senders.add(line, async () => {
      try {
        if (!this.#signal.aborted) await this.#finish(entry, line)
      } catch (error) {
        this.#broken.abort(error)
      }
    })
  }

  async #finish(entry: Entry, line: string): Promise<void> {
    const { id, cursor, answer, acks, attempts } = entry
    const signal = this.#signal
    if (answer) {
      try {
        if ((await this.#persist(id, () => this.#limited(() => this.#sendOn(line, id, answer)))) === STOPPED) return
      } catch (error) {
        if (isFatal(error) || error instanceof StoreError) throw error
        const reason = `the answer cannot be sent: ${reasonOf(error)}`
        return this.#buryEntry({ id, cursor, reason, attempts, answer, error })
      }
    }
    if (acks && (await this.#persist(id, () => this.#limited(() => this.#ack(id)))) === STOPPED) return
    if (signal.aborted) return
    await this.#journal.finish(id, acks)
    this.#options.onFinished?.({ id, cursor })
  }

  /** Notes whether answers reach the recipient. */
  async #sendOn(line: string, id: string, answer: Answer): Promise<void> {
    try {
      await this.#send(id, answer)
      this.#stuck.delete(line)
    } catch (error) {
      if (STUCK_CODES.some((code) => isCode(error, code))) this.#stuck.add(line)
      throw error
    }
  }

  /** Posts the answer once, however often it is called, in however many processes. */
  async #send(id: string, { draft, seal, accept }: Answer): Promise<void> {
    const signal = this.#signal
    const compose = async (): Promise<Envelope> => {
      const envelope = await this.#deps.compose(draft, { seal, signal })
      await this.#journal.composed(id, envelope)
      return envelope
    }
    try {
      const envelope = this.#journal.find(id)?.envelope ?? (await compose())
      // After the answer is composed, so that one that cannot be sent costs nothing, and before it can be answered.
      if (accept !== undefined) await this.#deps.acceptReplies(accept, { signal })
      await postKept(envelope, (one) => this.#deps.post(one, { signal }), compose)
    } catch (error) {
      // Only this agent can make the id, so an earlier process with another store has sent an answer.
      if (!isCode(error, 'id_conflict')) throw error
    }
  }

  async #ack(id: string): Promise<void> {
    try {
      await this.#deps.ack(id, { signal: this.#signal })
    } catch (error) {
      // The message has expired.
      if (!isCode(error, 'not_found') && !isCode(error, 'forbidden')) throw error
    }
  }

  async #ignore({ cursor, message }: Event): Promise<void> {
    const { id } = message.envelope
    await this.#journal.begin({ id, cursor, acks: false })
    await this.#journal.finish(id, false)
  }

  async #bury(event: Event, death: Pick<DeadLetter, 'reason' | 'attempts' | 'error'>): Promise<void> {
    const { cursor, message } = event
    const { id } = message.envelope
    if (this.#journal.find(id) === undefined) await this.#journal.begin({ id, cursor, acks: false })
    await this.#buryEntry({ ...death, id, cursor, event })
  }

  async #buryEntry(letter: DeadLetter): Promise<void> {
    await this.#keep(`${letter.cursor}-${letter.id}`, letter)
    await this.#journal.finish(letter.id, false)
  }

  /** A message whose id cannot be one, which only a hostile service has. It has no entry. */
  async #buryUnnamed(event: Event): Promise<void> {
    const { cursor } = event
    await this.#keep(String(cursor), {
      reason: 'its id is malformed',
      attempts: 0,
      cursor,
      id: event.message.envelope.id,
      event,
    })
    await this.#journal.skip(cursor)
  }

  /** In the store before the message counts as finished. */
  async #keep(name: string, letter: DeadLetter): Promise<void> {
    const { error: _error, ...kept } = letter
    const key = `dead-letters/${name}.json`
    // An earlier process, which was killed after this, knew the reason better.
    if ((await this.#store.get(key)) === undefined) await this.#store.set(key, `${JSON.stringify(kept, null, 2)}\n`)
    if (this.#options.onDeadLetter) await this.#options.onDeadLetter(letter)
    else this.#deps.warn(`the message ${letter.id} is given up: ${letter.reason}`)
  }

  /** Repeats a call until an outage or a limit ends. @returns STOPPED if the consumer stops first. */
  async #persist<T>(id: string, call: () => Promise<T>, rest: Rest = (wait) => wait): Promise<T | typeof STOPPED> {
    for (let failures = 1; ; failures += 1) {
      try {
        return await call()
      } catch (failure) {
        if (this.#signal.aborted) return STOPPED
        if (!isPassing(failure)) throw failure
        if (!(await rest(this.#wait(id, failure, failures)))) return STOPPED
      }
    }
  }

  /** Says that a message waits, and waits. @returns false if the consumer stops. */
  async #wait(id: string, failure: unknown, failures: number): Promise<boolean> {
    const delayMs = delayAfter(failure, failures, this.#deps.random())
    if (this.#options.onWait) this.#options.onWait({ id, failure, delayMs })
    else this.#deps.warn(`the message ${id} waits ${Math.round(delayMs / 1_000)} s: ${reasonOf(failure)}`)
    return this.#pause(delayMs)
  }

  #limited<T>(call: () => Promise<T>): Promise<T> {
    this.#nextCall += 1
    return this.#calls.run(String(this.#nextCall), call)
  }

  /** @returns false if the consumer stops. */
  async #pause(ms: number): Promise<boolean> {
    await this.#deps.sleep(ms, this.#signal).catch(() => undefined)
    return !this.#signal.aborted
  }
}

const STOPPED = Symbol('stopped')
/** Lets others run during a wait. */
type Rest = (wait: Promise<boolean>) => Promise<boolean>

function reasonOf(error: unknown): string {
  if (error instanceof ApiError) return `${error.message} (${error.code})`
  return error instanceof Error ? error.message : String(error)
}
