import { type ReadonlySignal, signal } from '@preact/signals'
import type { SendResult } from '@svc/contracts/resources.ts'
import type { JsonValue } from '@svc/envelope/json-value.ts'
import { ApiError } from '@svc/sdk/errors.ts'
import type { PendingEnvelope, SentPlaintext } from '../../vault/agent-store.ts'
import type { Contacts } from '../agent/contacts.ts'
import type { AgentContext } from '../agent/context.ts'
import { explain, isAbort } from '../failures.ts'
import { digestOf } from './digest.ts'

/** An envelope whose fate is not known: no answer came, or the page was closed before it did. */
export interface Pending extends PendingEnvelope {
  readonly isSending: boolean
  readonly problem?: string | undefined
}

interface Outgoing {
  readonly to: string
  readonly body: JsonValue
  readonly seal: boolean
  /** Accepts the recipient as a contact, before the message is sent. */
  readonly acceptReplies: boolean
  readonly replyTo?: string | undefined
  readonly threadId?: string | undefined
}

/** Messages that this browser sends, and the texts of those that it sent. */
export class Outbox {
  readonly #context: AgentContext
  readonly #contacts: Contacts
  readonly #pending = signal<ReadonlyMap<string, Pending>>(new Map())
  readonly #sent = signal<ReadonlyMap<string, SentPlaintext>>(new Map())
  readonly pending: ReadonlySignal<ReadonlyMap<string, Pending>> = this.#pending
  /** Texts of what this browser sent, by message id. Nobody but the recipient can open a sealed message. */
  readonly sent: ReadonlySignal<ReadonlyMap<string, SentPlaintext>> = this.#sent

  constructor(context: AgentContext, contacts: Contacts) {
    this.#context = context
    this.#contacts = contacts
  }

  async load(): Promise<void> {
    const { store } = this.#context
    const waiting = await store.pending.list()
    this.#pending.value = new Map(waiting.map(({ id, value }) => [id, { ...value, isSending: false }]))
    const texts = (await store.sent.list()).sort((a, b) => a.value.sentAtMs - b.value.sentAtMs)
    this.#sent.value = new Map(texts.map(({ id, value }) => [id, value]))
  }

  /**
   * Composes, stores, and posts. The envelope is stored before the first request. If no answer comes, it stays in `pending`.
   * @returns undefined if no answer came. @throws ApiError if the service refused; then nothing was sent.
   */
  async send({ to, body, seal, acceptReplies, replyTo, threadId }: Outgoing): Promise<SendResult | undefined> {
    const { client, ended: signal, store } = this.#context
    const envelope = await client.compose({ to, body, replyTo, threadId }, { seal, signal })
    // Before the message, so that no answer is faster.
    if (acceptReplies) await this.#contacts.acceptReplies(to)
    const waiting = { envelope, body, composedAtMs: Date.now() }
    await store.pending.put(envelope.id, waiting)
    return this.#post(waiting, false)
  }

  /** Posts the same envelope again. It is accepted and charged once, however often it is sent. */
  async retry(id: string): Promise<SendResult | undefined> {
    const waiting = this.#pending.value.get(id)
    return waiting === undefined || waiting.isSending ? undefined : this.#post(waiting, true)
  }

  /** Deletes the text, or the envelope that waits, in this browser. */
  async forget(id: string): Promise<void> {
    await this.#settle(id)
    const next = new Map(this.#sent.value)
    next.delete(id)
    this.#sent.value = next
    await this.#context.store.sent.delete(id)
  }

  /** @param isRetry keeps a refused envelope, so that its text is not lost. */
  async #post({ envelope, body, composedAtMs }: PendingEnvelope, isRetry: boolean): Promise<SendResult | undefined> {
    const { id } = envelope
    const waiting = { envelope, body, composedAtMs }
    this.#show(id, { ...waiting, isSending: true })
    try {
      const result = await this.#context.client.post(envelope, { signal: this.#context.ended })
      await this.#keepText(waiting)
      await this.#settle(id)
      return result
    } catch (error) {
      if (isAbort(error)) throw error
      if (isRefusal(error) && !isRetry) {
        await this.#settle(id)
        throw error
      }
      this.#show(id, { ...waiting, isSending: false, problem: explain(error) })
      return undefined
    }
  }

  async #keepText({ envelope, body, composedAtMs: sentAtMs }: PendingEnvelope): Promise<void> {
    const { id, to } = envelope
    const text = { body, to, sentAtMs, digest: digestOf(envelope) }
    this.#sent.value = new Map(this.#sent.value).set(id, text)
    await this.#context.store.sent.put(id, text)
  }

  async #settle(id: string): Promise<void> {
    this.#show(id, undefined)
    await this.#context.store.pending.delete(id)
  }

  #show(id: string, waiting: Pending | undefined): void {
    const next = new Map(this.#pending.value)
    if (waiting === undefined) next.delete(id)
    else next.set(id, waiting)
    this.#pending.value = next
  }
}

/** Whether the service certainly did not accept the envelope. After other failures it may have. */
function isRefusal(error: unknown): boolean {
  return error instanceof ApiError && error.status < 500 && error.status !== 429
}
