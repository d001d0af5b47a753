import { type ReadonlySignal, signal } from '@preact/signals'
import type { Envelope, SendResult } from '@svc/contracts/resources.ts'
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

export interface Outbox {
  readonly pending: ReadonlySignal<ReadonlyMap<string, Pending>>
  /** Texts of what this browser sent, by message id. Nobody but the recipient can open a sealed message. */
  readonly sent: ReadonlySignal<ReadonlyMap<string, SentPlaintext>>
  load(): Promise<void>
  /**
   * Composes, stores, and posts. The envelope is stored before the first request. If no answer comes, it stays in `pending`.
   * @returns undefined if no answer came. @throws ApiError if the service refused; then nothing was sent.
   */
  send(outgoing: Outgoing): Promise<SendResult | undefined>
  /** Posts the same envelope again. It is accepted and charged once, however often it is sent. */
  retry(id: string): Promise<SendResult | undefined>
  /** Deletes the text, or the envelope that waits, in this browser. */
  forget(id: string): Promise<void>
}

export function createOutbox({ client, store, ended }: AgentContext, contacts: Contacts): Outbox {
  const pending = signal<ReadonlyMap<string, Pending>>(new Map())
  const sent = signal<ReadonlyMap<string, SentPlaintext>>(new Map())

  function show(id: string, waiting: Pending | undefined): void {
    const next = new Map(pending.value)
    if (waiting === undefined) next.delete(id)
    else next.set(id, waiting)
    pending.value = next
  }

  async function settle(id: string): Promise<void> {
    show(id, undefined)
    await store.pending.delete(id)
  }

  /** @param isRetry keeps a refused envelope, so that its text is not lost. */
  async function post(pendingEnvelope: PendingEnvelope, isRetry: boolean): Promise<SendResult | undefined> {
    const { envelope, body, composedAtMs } = pendingEnvelope
    const { id } = envelope
    const waiting = { envelope, body, composedAtMs }
    show(id, { ...waiting, isSending: true })
    try {
      const result = await client.post(envelope, { signal: ended })
      await keepText(envelope, body, composedAtMs)
      await settle(id)
      return result
    } catch (error) {
      if (isAbort(error)) throw error
      if (isRefusal(error) && !isRetry) {
        await settle(id)
        throw error
      }
      show(id, { ...waiting, isSending: false, problem: explain(error) })
      return undefined
    }
  }

  async function keepText(envelope: Envelope, body: unknown, sentAtMs: number): Promise<void> {
    const { id, to } = envelope
    const text = { body, to, sentAtMs, digest: digestOf(envelope) }
    sent.value = new Map(sent.value).set(id, text)
    await store.sent.put(id, text)
  }

  return {
    pending,
    sent,
    async load() {
      const waiting = await store.pending.list()
      pending.value = new Map(waiting.map(({ id, value }) => [id, { ...value, isSending: false }]))
      const texts = (await store.sent.list()).sort((a, b) => a.value.sentAtMs - b.value.sentAtMs)
      sent.value = new Map(texts.map(({ id, value }) => [id, value]))
    },
    async send({ to, body, seal, acceptReplies, replyTo, threadId }) {
      const envelope = await client.compose({ to, body, replyTo, threadId }, { seal, signal: ended })
      // Before the message, so that no answer is faster.
      if (acceptReplies) await contacts.acceptReplies(to)
      const waiting = { envelope, body, composedAtMs: Date.now() }
      await store.pending.put(envelope.id, waiting)
      return post(waiting, false)
    },
    async retry(id) {
      const waiting = pending.value.get(id)
      return waiting === undefined || waiting.isSending ? undefined : post(waiting, true)
    },
    async forget(id) {
      await settle(id)
      const next = new Map(sent.value)
      next.delete(id)
      sent.value = next
      await store.sent.delete(id)
    },
  }
}

/** Whether the service certainly did not accept the envelope. After other failures it may have. */
function isRefusal(error: unknown): boolean {
  return error instanceof ApiError && error.status < 500 && error.status !== 429
}
