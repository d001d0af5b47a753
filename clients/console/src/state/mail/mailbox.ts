import { computed, type ReadonlySignal, signal } from '@preact/signals'
import type { Event, Message } from '@svc/contracts/resources.ts'
import type { AgentContext } from '../agent/context.ts'

/** A received message at its place in the agent's history. */
export interface Entry {
  readonly cursor: number
  readonly message: Message
}

const PAGE_SIZE = 100

/** Received messages, newest first. The history is read backwards from its end, as far as the person scrolls. */
export class Mailbox {
  readonly #context: AgentContext
  readonly #byId = new Map<string, Entry>()
  readonly #entries = signal<readonly Entry[]>([])
  readonly #state = signal<'idle' | 'loading' | 'complete' | 'failed'>('idle')
  readonly #latest = signal(0)
  /** The oldest cursor that was read, and the oldest one that the service has. */
  #oldest = 1
  #earliest = 1
  readonly inbox: ReadonlySignal<readonly Entry[]> = computed(() => this.#inLane('inbox'))
  readonly requests: ReadonlySignal<readonly Entry[]> = computed(() => this.#inLane('requests'))
  readonly state: ReadonlySignal<'idle' | 'loading' | 'complete' | 'failed'> = this.#state
  /** Cursor of the newest event of all. */
  readonly latest: ReadonlySignal<number> = this.#latest

  constructor(context: AgentContext) {
    this.#context = context
  }

  /** Finds the end of the history, without reading it. @returns the cursor of the newest event. */
  async findEnd(): Promise<number> {
    const { client, ended: signal } = this.#context
    const page = await client.events({ after: Number.MAX_SAFE_INTEGER, pageSize: 1, signal }).page()
    this.#latest.value = page.latest ?? 0
    this.#earliest = page.earliest ?? 1
    this.#oldest = this.#latest.value + 1
    return this.#latest.value
  }

  async loadOlder(): Promise<void> {
    if (this.#state.value === 'loading' || this.#state.value === 'complete') return
    this.#state.value = 'loading'
    try {
      const before = this.#byId.size
      // A window can hold nothing but posts and expired messages. Go on until something can be shown.
      while (this.#oldest > this.#earliest && this.#byId.size === before) await this.#loadWindow()
      this.#state.value = this.#oldest > this.#earliest ? 'idle' : 'complete'
    } catch (error) {
      this.#state.value = 'failed'
      throw error
    }
  }

  /**
   * Events as they arrive. An event that is known changes nothing. Keeps one entry for each message: the newest, because an
   * accepted request is listed at its new place.
   */
  add(events: readonly Event[]): void {
    const fresh = events.filter(({ cursor, message, kind }) => {
      const known = this.#byId.get(message.envelope.id)
      return kind !== 'board' && (known === undefined || known.cursor < cursor)
    })
    if (fresh.length === 0) return
    for (const { cursor, message } of fresh) this.#byId.set(message.envelope.id, { cursor, message })
    this.#publish()
    this.reach(Math.max(...fresh.map(({ cursor }) => cursor)))
  }

  /** A cursor without an event to show. */
  reach(cursor: number): void {
    this.#latest.value = Math.max(this.#latest.value, cursor)
  }

  find(id: string): Entry | undefined {
    return this.#byId.get(id)
  }

  async acknowledge(id: string): Promise<void> {
    await this.#context.client.ack(id, { signal: this.#context.ended })
    const known = this.#byId.get(id)
    if (known !== undefined) this.#replace({ ...known.message, acked: true })
  }

  /** Reads one message again, e.g. after its sender was accepted. */
  async reread(id: string): Promise<void> {
    this.#replace(await this.#context.client.message(id, { signal: this.#context.ended }))
  }

  #inLane(lane: 'inbox' | 'requests'): Entry[] {
    return this.#entries.value.filter(({ message }) => message.lane === lane)
  }

  #publish(): void {
    this.#entries.value = [...this.#byId.values()].sort((a, b) => b.cursor - a.cursor)
  }

  #replace(message: Message): void {
    const known = this.#byId.get(message.envelope.id)
    if (known === undefined) return
    this.#byId.set(message.envelope.id, { ...known, message })
    this.#publish()
  }

  /** Reads the events of one window of cursors below the oldest that was read. */
  async #loadWindow(): Promise<void> {
    const { client, ended: signal } = this.#context
    const end = this.#oldest
    const start = Math.max(this.#earliest, end - PAGE_SIZE) - 1
    const found: Event[] = []
    for await (const { items, next } of client.events({ after: start, pageSize: PAGE_SIZE, signal }).pages()) {
      found.push(...items.filter(({ cursor }) => cursor < end))
      if (next >= end - 1) break
    }
    this.#oldest = start + 1
    this.add(found)
  }
}
