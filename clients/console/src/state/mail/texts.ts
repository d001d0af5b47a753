import { type ReadonlySignal, signal } from '@preact/signals'
import type { JsonValue } from '@svc/envelope/json-value.ts'
import type { AgentContext } from '../agent/context.ts'
import { isAbort } from '../failures.ts'
import type { Archive, Entry } from './archive.ts'
import type { Opener } from './opening.ts'
import type { Outbox } from './outbox.ts'
import { idle } from './pause.ts'

/** The part of a text that is searched. */
const MAX_LENGTH = 4_000
/** Texts in one record of the vault. */
const CHUNK = 200

/** Returns a text as it is, and any other value as JSON. */
export function textOf(body: JsonValue | undefined): string {
  if (body === undefined) return ''
  return typeof body === 'string' ? body : JSON.stringify(body)
}

/** The searchable texts of all messages. Sealed ones are opened once, in the background, and their texts are kept. */
export class Texts {
  readonly #context: AgentContext
  readonly #archive: Archive
  readonly #opener: Opener
  readonly #outbox: Outbox
  readonly #opened = new Map<string, string>()
  readonly #lower = new Map<string, string>()
  readonly #waiting = signal(0)
  #chunks = 0
  #running: Promise<void> | undefined
  /** Sealed messages that were not opened yet, so that the search does not find them. */
  readonly waiting: ReadonlySignal<number> = this.#waiting

  constructor(context: AgentContext, parts: { archive: Archive; opener: Opener; outbox: Outbox }) {
    this.#context = context
    this.#archive = parts.archive
    this.#opener = parts.opener
    this.#outbox = parts.outbox
  }

  /** Call it when the archive has what is kept. Forgets the texts of expired messages. */
  async load(): Promise<void> {
    const { store } = this.#context
    for (const { id, value } of await store.texts.list()) {
      this.#chunks = Math.max(this.#chunks, Number(id) + 1)
      const live = value.filter(([messageId]) => this.#archive.find(messageId) !== undefined)
      for (const [messageId, text] of live) this.#opened.set(messageId, text)
      if (live.length === 0) await store.texts.delete(id)
    }
  }

  /** The beginning of the text in lower case. Empty if it is not known. */
  searchable({ message: { envelope } }: Entry): string {
    const { id } = envelope
    const known = this.#lower.get(id)
    if (known !== undefined) return known
    const sent = this.#outbox.sent.value.get(id)
    const body = 'body' in envelope ? (envelope.body as JsonValue) : (sent?.body as JsonValue | undefined)
    const text = body === undefined ? this.#opened.get(id) : textOf(body)
    if (text === undefined) return ''
    const lower = text.slice(0, MAX_LENGTH).toLocaleLowerCase()
    this.#lower.set(id, lower)
    return lower
  }

  /** Opens what is sealed and was not opened yet. A call during another call waits for that one. */
  openAll(): Promise<void> {
    this.#running ??= this.#openAll().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #openAll(): Promise<void> {
    let fresh: (readonly [string, string])[] = []
    const waiting = this.#archive.entries.value.filter((entry) => this.#isUnread(entry))
    this.#waiting.value = waiting.length
    for (const { message } of waiting) {
      if (this.#context.ended.aborted) return
      await idle()
      try {
        const opened = await this.#opener.open(message, 'mail')
        fresh.push([message.envelope.id, opened.kind === 'open' ? textOf(opened.body).slice(0, MAX_LENGTH) : ''])
      } catch (error) {
        // The network failed while the sender was looked up. The next session tries again.
        if (isAbort(error)) return
      }
      this.#waiting.value -= 1
      if (fresh.length >= CHUNK) {
        await this.#keep(fresh)
        fresh = []
      }
    }
    if (fresh.length > 0) await this.#keep(fresh)
  }

  /** Whether only this agent can read it, and has not yet. */
  #isUnread({ cursor, message: { envelope } }: Entry): boolean {
    return cursor !== undefined && 'body_enc' in envelope && !this.#opened.has(envelope.id)
  }

  async #keep(texts: readonly (readonly [string, string])[]): Promise<void> {
    for (const [id, text] of texts) this.#opened.set(id, text)
    this.#chunks += 1
    await this.#context.store.texts.put(String(this.#chunks), texts).catch(() => undefined)
  }
}
