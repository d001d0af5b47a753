import { effect, type ReadonlySignal, signal } from '@preact/signals'
import type { Message, SendResult } from '@svc/contracts/resources.ts'
import type { EnvelopeType } from '@svc/envelope/envelope.ts'
import type { JsonValue } from '@svc/envelope/json-value.ts'
import { isCode } from '@svc/sdk/errors.ts'
import { untilAborted } from '@svc/sdk/http/waiting.ts'
import { strings } from '../../strings.ts'
import type { PendingEnvelope, SentPlaintext } from '../../vault/agent-store.ts'
import type { Contacts } from '../agent/contacts.ts'
import type { AgentContext } from '../agent/context.ts'
import { explain, inPassing } from '../failures.ts'
import type { Health } from '../health.ts'
import { digestOf } from './digest.ts'
import { asPending, type Cancelled, draftOf, isRefusal, messageOf, type Pending, recordOf } from './pending.ts'
import { SendQueue } from './send-queue.ts'

export type { Cancelled, Pending } from './pending.ts'

export interface Outgoing {
  readonly to: string
  readonly body: JsonValue
  readonly seal: boolean
  /** Accepts the recipient as a contact, before the message is sent. */
  readonly acceptReplies: boolean
  /** Default `event`. */
  readonly type?: EnvelopeType | undefined
  readonly replyTo?: string | undefined
  readonly threadId?: string | undefined
}

export interface Sent {
  /** Of the message. */
  readonly id: string
  /** Undefined if no answer came: the message waits, and is sent by itself. */
  readonly result: SendResult | undefined
}

interface OutboxOptions {
  /** Called with each message that the service has accepted. */
  readonly onAccepted?: (message: Message) => void
  readonly health?: Pick<Health, 'state'>
}

/** Somebody who waits for the answer to a message. */
interface Waiter extends PromiseWithResolvers<SendResult | undefined> {
  /** Whether a refusal gives the text back to its composer. Otherwise the message stays in `pending`. */
  readonly isFirst: boolean
}

/** How long a person waits for an answer before the page says that the message waits. */
const ANSWER_MS = 4_000
/** A key or an address that is not known yet is asked for. */
const COMPOSE_MS = 4_500

/** Messages that this browser sends, and the texts of those that it sent. */
export class Outbox {
  readonly #context: AgentContext
  readonly #contacts: Contacts
  readonly #onAccepted: ((message: Message) => void) | undefined
  readonly #queue: SendQueue
  readonly #pending = signal<ReadonlyMap<string, Pending>>(new Map())
  readonly #sent = signal<ReadonlyMap<string, SentPlaintext>>(new Map())
  readonly #waiters = new Map<string, Waiter>()
  /** What this tab has tried. Another tab may have settled or changed it since. */
  readonly #tried = new Set<string>()
  readonly pending: ReadonlySignal<ReadonlyMap<string, Pending>> = this.#pending
  /** Texts of what this browser sent, by message id. Nobody but the recipient can open a sealed message. */
  readonly sent: ReadonlySignal<ReadonlyMap<string, SentPlaintext>> = this.#sent

  constructor(context: AgentContext, contacts: Contacts, { onAccepted, health }: OutboxOptions = {}) {
    const { ended } = context
    this.#context = context
    this.#contacts = contacts
    this.#onAccepted = onAccepted
    this.#queue = new SendQueue({
      ended,
      health,
      due: () => this.#due(),
      attempt: (id, signal) => this.#attempt(id, signal),
    })
    const unfollow = effect(() => {
      if (health?.state.value === 'failing') for (const waiter of this.#waiters.values()) waiter.resolve(undefined)
    })
    ended.addEventListener('abort', unfollow)
  }

  /** Shows what an earlier session kept, and goes on with what waits. */
  async load(): Promise<void> {
    const { client, ended: signal, store } = this.#context
    const waiting = await store.pending.list()
    this.#pending.value = new Map(waiting.map(({ id, value }) => [id, asPending(value)]))
    const texts = (await store.sent.list()).sort((a, b) => a.value.sentAtMs - b.value.sentAtMs)
    this.#sent.value = new Map(texts.map(({ id, value }) => [id, value]))
    // So that a message can be composed without a network later.
    inPassing(client.address({ signal }))
    this.#queue.start()
  }

  /**
   * Composes, stores and posts. If no answer comes soon, the envelope stays in `pending` and is sent by itself.
   * @throws ApiError if the service refused; then nothing was sent. @throws the signal's reason if it was cancelled in time.
   * @throws TypeError, with a text for people, if the service is needed and does not answer, or if it was cancelled late.
   */
  async send(outgoing: Outgoing, { signal }: { signal?: AbortSignal | undefined } = {}): Promise<Sent> {
    const { acceptReplies, body } = outgoing
    const envelope = await this.#compose(outgoing, signal)
    const isTried = !acceptReplies && !this.#queue.isFailing
    const kept = { envelope, body, composedAtMs: Date.now(), acceptReplies, isTried }
    await this.#context.store.pending.put(envelope.id, kept)
    this.#show(envelope.id, { ...asPending(kept), isSending: !this.#queue.isFailing })
    return { id: envelope.id, result: await this.#firstAnswer(envelope.id, signal) }
  }

  /** Sends the same envelope again, at once. It is accepted and charged once, however often it is sent. */
  async retry(id: string): Promise<SendResult | undefined> {
    if (!this.#pending.value.has(id)) return undefined
    this.#update(id, { isSending: true, isRefused: false, problem: undefined })
    return this.#answerTo(id, false)
  }

  /** Stops trying. @returns undefined if the message does not wait any more. */
  async cancel(id: string): Promise<Cancelled | undefined> {
    const waiting = this.#pending.value.get(id)
    if (waiting === undefined) return undefined
    await this.#settle(id)
    // Whoever waits for the answer need not wait any more.
    this.#waiters.get(id)?.resolve(undefined)
    return { draft: draftOf(waiting), mayHaveArrived: waiting.isTried === true }
  }

  /** Deletes the text, or the envelope that waits, in this browser. */
  async forget(id: string): Promise<void> {
    await this.#settle(id)
    const next = new Map(this.#sent.value)
    next.delete(id)
    this.#sent.value = next
    await this.#context.store.sent.delete(id)
  }

  /** What is known already needs no network. @param signal of the person who waits. */
  async #compose(
    { seal, to, body, type, replyTo, threadId, id }: Omit<Outgoing, 'acceptReplies'> & { readonly id?: string },
    signal = new AbortController().signal,
  ): Promise<PendingEnvelope['envelope']> {
    const { client, ended } = this.#context
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(), COMPOSE_MS)
    try {
      const any = AbortSignal.any([ended, signal, late.signal])
      return await client.compose({ to, body, type, replyTo, threadId, id }, { seal, signal: any })
    } catch (error) {
      if (!late.signal.aborted || signal.aborted || ended.aborted) throw error
      throw new TypeError(strings.sent.notComposed, { cause: error })
    } finally {
      clearTimeout(timer)
    }
  }

  async #firstAnswer(id: string, signal: AbortSignal | undefined): Promise<SendResult | undefined> {
    const answer = this.#answerTo(id, true)
    try {
      return await untilAborted(answer, signal)
    } catch (error) {
      if (signal?.aborted !== true) throw error
      answer.catch(() => {})
      const cancelled = await this.cancel(id)
      if (cancelled?.mayHaveArrived === false) throw error
      throw new TypeError(strings.sent.cancelledMaybe, { cause: error })
    }
  }

  /** @returns undefined if no answer comes soon. */
  async #answerTo(id: string, isFirst: boolean): Promise<SendResult | undefined> {
    const waiter = { ...Promise.withResolvers<SendResult | undefined>(), isFirst }
    this.#waiters.set(id, waiter)
    const timer = setTimeout(() => waiter.resolve(undefined), ANSWER_MS)
    if (isFirst && this.#queue.isFailing) waiter.resolve(undefined)
    this.#queue.start(isFirst ? undefined : id)
    try {
      return await waiter.promise
    } finally {
      clearTimeout(timer)
      if (this.#waiters.get(id) === waiter) this.#waiters.delete(id)
    }
  }

  #due(): readonly string[] {
    const due = [...this.#pending.value.values()].filter(({ isRefused }) => !isRefused)
    return due.sort((a, b) => a.composedAtMs - b.composedAtMs).map(({ envelope }) => envelope.id)
  }

  /** @returns whether the envelope needs no further try. */
  async #attempt(id: string, signal: AbortSignal): Promise<boolean> {
    const isAsked = this.#waiters.has(id)
    this.#update(id, { isSending: isAsked || !this.#queue.isFailing, problem: undefined })
    const slow = setTimeout(() => this.#update(id, { isSending: false, problem: strings.sent.noAnswer }), ANSWER_MS)
    try {
      await this.#post(id, signal)
      return true
    } catch (error) {
      const problem = signal.aborted ? strings.sent.noAnswer : explain(error)
      this.#update(id, { isSending: false, problem })
      return signal.aborted ? this.#context.ended.aborted : await this.#judge(id, error)
    } finally {
      clearTimeout(slow)
    }
  }

  async #post(id: string, signal: AbortSignal): Promise<void> {
    const { client, store } = this.#context
    const isKept = !this.#tried.has(id) || (await this.#reread(id))
    const waiting = this.#pending.value.get(id)
    if (!isKept || waiting === undefined) return
    this.#tried.add(id)
    const { acceptReplies, envelope, isTried } = waiting
    // Before the message, so that no answer is faster.
    if (acceptReplies === true) await untilAborted(this.#contacts.acceptReplies(nameOf(envelope.to)), signal)
    if (isTried !== true) await this.#change(id, { acceptReplies: false, isTried: true })
    signal.throwIfAborted()
    const result = await client.post(envelope, { signal })
    const text = { body: waiting.body, to: envelope.to, sentAtMs: waiting.composedAtMs, digest: digestOf(envelope) }
    this.#sent.value = new Map(this.#sent.value).set(id, text)
    await store.sent.put(id, text)
    this.#onAccepted?.(messageOf(waiting, result))
    await this.#settle(id)
    this.#waiters.get(id)?.resolve(result)
  }

  /** @returns whether the envelope still waits. Another tab may have sent or renewed it. */
  async #reread(id: string): Promise<boolean> {
    const kept = await this.#context.store.pending.get(id)
    if (kept === undefined) this.#show(id, undefined)
    else this.#update(id, kept)
    return kept !== undefined
  }

  /** After a failed try. @returns whether no further one is needed. */
  async #judge(id: string, error: unknown): Promise<boolean> {
    const waiting = this.#pending.value.get(id)
    if (waiting === undefined) return true
    if (isCode(error, 'envelope_timestamp_out_of_range')) {
      await this.#renew(waiting)
      return false
    }
    if (!isRefusal(error)) return false
    const waiter = this.#waiters.get(id)
    if (waiter?.isFirst === true) {
      await this.#settle(id)
      waiter.reject(error)
    } else {
      // If the service had accepted an earlier try, it would answer `duplicate`. Only a 401 leaves doubt: signatures are checked first.
      const isTried = error.status === 401 && waiting.isTried === true
      await this.#change(id, { isRefused: true, refusal: explain(error), isTried })
      waiter?.resolve(undefined)
    }
    return true
  }

  /** An old envelope was not accepted (spec 7.2), so its text may go with a new time. The id stays, so it cannot go twice. */
  async #renew({ body, envelope }: Pending): Promise<void> {
    const { id, to, type, reply_to: replyTo, thread_id: threadId } = envelope
    const draft = { id, to, body: body as JsonValue, type, replyTo, threadId, seal: 'body_enc' in envelope }
    await this.#compose(draft).then(
      (renewed) => this.#change(id, { envelope: renewed, isTried: false }),
      () => undefined, // The next try asks for it again.
    )
  }

  async #settle(id: string): Promise<void> {
    this.#show(id, undefined)
    this.#queue.stop(id)
    await this.#context.store.pending.delete(id)
  }

  /** Also in the store. */
  async #change(id: string, change: Partial<Pending>): Promise<void> {
    this.#update(id, change)
    const waiting = this.#pending.value.get(id)
    if (waiting !== undefined) await this.#context.store.pending.put(id, recordOf(waiting))
  }

  #update(id: string, change: Partial<Pending>): void {
    const waiting = this.#pending.value.get(id)
    if (waiting !== undefined) this.#show(id, { ...waiting, ...change })
  }

  #show(id: string, waiting: Pending | undefined): void {
    const next = new Map(this.#pending.value)
    if (waiting === undefined) next.delete(id)
    else next.set(id, waiting)
    this.#pending.value = next
  }
}

function nameOf(address: string): string {
  return address.split('@')[0] ?? address
}
