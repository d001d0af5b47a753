import { computed, type ReadonlySignal, signal } from '@preact/signals'
import type { Event, Message } from '@svc/contracts/resources.ts'
import type { AgentContext } from '../agent/context.ts'

/** A direct message of either side. */
export interface Entry {
  readonly message: Message
  /** Cursor of the newest event of the message. Undefined for a message to another agent, because sending makes no event. */
  readonly cursor: number | undefined
  /** Whether the message was ever in the lane `requests`. `message.lane` is its present lane. */
  readonly hasWaited: boolean
}

/** A post of a subscribed board. Its text is read with the board. */
export interface PostMark {
  readonly cursor: number
  readonly boardId: string
}

const BOARD = 'board:'

/** All direct messages of the agent that this tab has read, and where the posts of its boards are in its history. */
export class Archive {
  readonly #context: AgentContext
  readonly #byId = new Map<string, Entry>()
  readonly #posts = new Map<number, string>()
  readonly #entries = signal<readonly Entry[]>([])
  readonly #marks = signal<readonly PostMark[]>([])
  /** Live messages, in no order. */
  readonly entries: ReadonlySignal<readonly Entry[]> = this.#entries
  /** Cursors of the posts of other agents, by board id. */
  readonly posts: ReadonlySignal<ReadonlyMap<string, readonly number[]>> = computed(() => {
    const byBoard = new Map<string, number[]>()
    for (const { boardId, cursor } of this.#marks.value) {
      const cursors = byBoard.get(boardId)
      if (cursors === undefined) byBoard.set(boardId, [cursor])
      else cursors.push(cursor)
    }
    return byBoard
  })

  constructor(context: AgentContext) {
    this.#context = context
  }

  find(id: string): Entry | undefined {
    return this.#byId.get(id)
  }

  /** Keeps one entry for each message: the newest, because an accepted request is listed again at its new place. */
  add(events: readonly Event[], isOwn: (from: string) => boolean): void {
    let hasPosts = false
    let hasMessages = false
    for (const { cursor, kind, message } of events) {
      const { id, from, to } = message.envelope
      if (kind === 'board') {
        // The agent's own posts never count as unread.
        if (isOwn(from) || this.#posts.has(cursor)) continue
        this.#posts.set(cursor, to.slice(BOARD.length))
        hasPosts = true
      } else if ((this.#byId.get(id)?.cursor ?? 0) < cursor) {
        this.#keep(message, cursor, kind === 'requests')
        hasMessages = true
      }
    }
    if (hasMessages) this.#publish()
    if (hasPosts) this.#publishPosts()
  }

  /** Adds messages that come without an event: the agent's own messages, and messages that were read again. */
  addMessages(messages: readonly Message[]): void {
    const direct = messages.filter((message) => !message.envelope.to.startsWith(BOARD) && this.#isNews(message))
    for (const message of direct) this.#keep(message, this.#byId.get(message.envelope.id)?.cursor, false)
    if (direct.length > 0) this.#publish()
  }

  /** Adds what an earlier session stored. */
  restore(entries: readonly Entry[], posts: readonly PostMark[]): void {
    for (const entry of entries) {
      const known = this.#byId.get(entry.message.envelope.id)
      if (known === undefined || (known.cursor ?? 0) < (entry.cursor ?? 0))
        this.#byId.set(entry.message.envelope.id, entry)
    }
    for (const { cursor, boardId } of posts) this.#posts.set(cursor, boardId)
    this.#publish()
    this.#publishPosts()
  }

  /** The entries and posts between two cursors, both included. */
  between(first: number, last: number): { entries: Entry[]; posts: PostMark[] } {
    const isInside = ({ cursor }: { cursor: number | undefined }): boolean =>
      cursor !== undefined && cursor >= first && cursor <= last
    return { entries: [...this.#byId.values()].filter(isInside), posts: this.#marks.value.filter(isInside) }
  }

  async acknowledge(id: string): Promise<void> {
    await this.#context.client.ack(id, { signal: this.#context.ended })
    const known = this.#byId.get(id)
    if (known !== undefined) this.addMessages([{ ...known.message, acked: true }])
  }

  /** Reads one message again, e.g. after its sender was accepted. */
  async reread(id: string): Promise<void> {
    this.addMessages([await this.#context.client.message(id, { signal: this.#context.ended })])
  }

  /** Whether the message is new or changed. Only `acked` and `lane` can change. */
  #isNews({ envelope, acked, lane }: Message): boolean {
    const known = this.#byId.get(envelope.id)?.message
    return known === undefined || known.acked !== acked || known.lane !== lane
  }

  #keep(message: Message, cursor: number | undefined, hasWaited: boolean): void {
    const { id } = message.envelope
    const known = this.#byId.get(id)
    this.#byId.set(id, {
      message,
      cursor,
      hasWaited: hasWaited || message.lane === 'requests' || known?.hasWaited === true,
    })
  }

  #publish(): void {
    const now = Date.now() / 1000
    for (const [id, { message }] of this.#byId) if (message.expires_at <= now) this.#byId.delete(id)
    this.#entries.value = [...this.#byId.values()]
  }

  #publishPosts(): void {
    this.#marks.value = [...this.#posts]
      .map(([cursor, boardId]) => ({ cursor, boardId }))
      .sort((a, b) => a.cursor - b.cursor)
  }
}
