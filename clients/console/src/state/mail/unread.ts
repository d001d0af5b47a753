import { type ReadonlySignal, signal } from '@preact/signals'
import type { AgentContext } from '../agent/context.ts'
import { inBackground } from '../failures.ts'

interface Place {
  /** Everything up to this cursor is read. */
  readonly upTo: number
  /** Cursors beyond it that are read too. */
  readonly beyond: ReadonlySet<number>
}

const RECORD = 'mail'
/** Maximum size of `beyond`, because a larger record is slow to write. Past it, all messages up to the oldest entry count as read. */
const MAX_BEYOND = 1_000

/**
 * The messages that the reader has seen, kept only in this browser. Reading never acknowledges, because an acknowledgement is
 * the agent's signal to the sender.
 */
export class Unread {
  readonly #context: AgentContext
  readonly #place = signal<Place>({ upTo: 0, beyond: new Set() })
  readonly place: ReadonlySignal<Place> = this.#place

  constructor(context: AgentContext) {
    this.#context = context
  }

  /** In a new browser everything counts as read: an imported key was used elsewhere, and a new agent has no messages yet. */
  async load(latestCursor: number): Promise<void> {
    const stored = await this.#context.store.read.get(RECORD)
    if (stored === undefined) this.#save({ upTo: latestCursor, beyond: new Set() })
    else this.#place.value = { upTo: stored.cursor, beyond: new Set(stored.beyond) }
  }

  /** Messages and posts share the cursors, so both are marked here. */
  markRead(cursors: readonly number[]): void {
    const { upTo, beyond } = this.#place.value
    const fresh = cursors.filter((cursor) => isUnread(this.#place.value, cursor))
    if (fresh.length > 0) this.#save(compact(upTo, [...beyond, ...fresh]))
  }

  markAllRead(latestCursor: number): void {
    this.#save({ upTo: Math.max(latestCursor, this.#place.value.upTo), beyond: new Set() })
  }

  #save(next: Place): void {
    this.#place.value = next
    inBackground(this.#context.store.read.put(RECORD, { cursor: next.upTo, beyond: [...next.beyond] }))
  }
}

export function isUnread({ upTo, beyond }: Place, cursor: number): boolean {
  return cursor > upTo && !beyond.has(cursor)
}

/** Moves `upTo` over the cursors that follow it without a gap. */
export function compact(upTo: number, cursors: readonly number[]): Place {
  const sorted = [...new Set(cursors)].filter((cursor) => cursor > upTo).sort((a, b) => a - b)
  let end = upTo
  while (sorted.length > 0 && (sorted[0] === end + 1 || sorted.length > MAX_BEYOND)) end = sorted.shift() ?? end
  return { upTo: end, beyond: new Set(sorted) }
}
