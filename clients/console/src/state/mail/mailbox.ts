import { computed, type ReadonlySignal, signal } from '@preact/signals'
import type { Event, Message } from '@svc/contracts/resources.ts'
import type { AgentContext } from '../agent/context.ts'

/** A received message at its place in the agent's history. */
export interface Entry {
  readonly cursor: number
  readonly message: Message
}

/** Received messages, newest first. The history is read backwards from its end, as far as the person scrolls. */
export interface Mailbox {
  readonly inbox: ReadonlySignal<readonly Entry[]>
  readonly requests: ReadonlySignal<readonly Entry[]>
  readonly state: ReadonlySignal<'idle' | 'loading' | 'complete' | 'failed'>
  /** Cursor of the newest event of all. */
  readonly latest: ReadonlySignal<number>
  /** Finds the end of the history, without reading it. @returns the cursor of the newest event. */
  findEnd(): Promise<number>
  loadOlder(): Promise<void>
  /** Events as they arrive. An event that is known changes nothing. */
  add(events: readonly Event[]): void
  /** A cursor without an event to show. */
  reach(cursor: number): void
  find(id: string): Entry | undefined
  acknowledge(id: string): Promise<void>
  /** Reads one message again, e.g. after its sender was accepted. */
  reread(id: string): Promise<void>
}

const PAGE_SIZE = 100

export function createMailbox({ client, ended }: AgentContext): Mailbox {
  const entries = signal<readonly Entry[]>([])
  const state = signal<'idle' | 'loading' | 'complete' | 'failed'>('idle')
  const latest = signal(0)
  const byId = new Map<string, Entry>()
  let oldest = 1
  let earliest = 1

  /** Keeps one entry for each message: the newest, because an accepted request is listed at its new place. */
  function add(events: readonly Event[]): void {
    const fresh = events.filter(({ cursor, message, kind }) => {
      const known = byId.get(message.envelope.id)
      return kind !== 'board' && (known === undefined || known.cursor < cursor)
    })
    if (fresh.length === 0) return
    for (const { cursor, message } of fresh) byId.set(message.envelope.id, { cursor, message })
    publish()
    latest.value = Math.max(latest.value, ...fresh.map(({ cursor }) => cursor))
  }

  function publish(): void {
    entries.value = [...byId.values()].sort((a, b) => b.cursor - a.cursor)
  }

  function replace(message: Message): void {
    const known = byId.get(message.envelope.id)
    if (known === undefined) return
    byId.set(message.envelope.id, { ...known, message })
    publish()
  }

  async function findEnd(): Promise<number> {
    const page = await client.events({ after: Number.MAX_SAFE_INTEGER, pageSize: 1, signal: ended }).page()
    latest.value = page.latest ?? 0
    earliest = page.earliest ?? 1
    oldest = latest.value + 1
    return latest.value
  }

  /** Reads the events of one window of cursors below the oldest that was read. */
  async function loadWindow(): Promise<void> {
    const end = oldest
    const start = Math.max(earliest, end - PAGE_SIZE) - 1
    const found: Event[] = []
    for await (const { items, next } of client.events({ after: start, pageSize: PAGE_SIZE, signal: ended }).pages()) {
      found.push(...items.filter(({ cursor }) => cursor < end))
      if (next >= end - 1) break
    }
    oldest = start + 1
    add(found)
  }

  return {
    inbox: computed(() => entries.value.filter(({ message }) => message.lane === 'inbox')),
    requests: computed(() => entries.value.filter(({ message }) => message.lane === 'requests')),
    state,
    latest,
    findEnd,
    async loadOlder() {
      if (state.value === 'loading' || state.value === 'complete') return
      state.value = 'loading'
      try {
        const before = byId.size
        // A window can hold nothing but posts and expired messages. Go on until something can be shown.
        while (oldest > earliest && byId.size === before) await loadWindow()
        state.value = oldest > earliest ? 'idle' : 'complete'
      } catch (error) {
        state.value = 'failed'
        throw error
      }
    },
    add,
    reach(cursor) {
      latest.value = Math.max(latest.value, cursor)
    },
    find: (id) => byId.get(id),
    async acknowledge(id) {
      await client.ack(id, { signal: ended })
      const known = byId.get(id)
      if (known !== undefined) replace({ ...known.message, acked: true })
    },
    async reread(id) {
      replace(await client.message(id, { signal: ended }))
    },
  }
}
