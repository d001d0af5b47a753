import { computed, type ReadonlySignal, signal } from '@preact/signals'
import type { AssignableRole, Board, BoardDetails, MemberEntry } from '@svc/contracts/resources.ts'
import { isCode } from '@svc/sdk/errors.ts'
import type { CallOptions } from '@svc/sdk/http/options.ts'
import type { AgentContext } from '../agent/context.ts'
import { inBackground } from '../failures.ts'

/** Facts that the service does not tell a member, so this browser keeps them. */
interface Marks {
  readonly subscribed: readonly string[]
  readonly voted: readonly string[]
  /** Posts that were hidden here, by board. The lists of the service leave them out, also for the owner. */
  readonly hidden: Readonly<Record<string, readonly string[]>>
}

const PAGE_SIZE = 100
const MAX_BOARDS = 1_000
const MAX_MARKS = 5_000
const RECORD = 'boards'

export class Boards {
  readonly #context: AgentContext
  readonly #all = signal<readonly BoardDetails[] | undefined>(undefined)
  readonly #read = signal<ReadonlyMap<string, BoardDetails>>(new Map())
  readonly #marks = signal<Marks>({ subscribed: [], voted: [], hidden: {} })
  readonly #known = computed(() => {
    const listed = (this.#all.value ?? []).map((board) => [board.id, board] as const)
    return new Map([...this.#read.value, ...listed])
  })
  readonly all: ReadonlySignal<readonly BoardDetails[] | undefined> = this.#all
  readonly marks: ReadonlySignal<Marks> = this.#marks

  constructor(context: AgentContext) {
    this.#context = context
  }

  async load(): Promise<void> {
    const kept = (await this.#context.store.preferences.get(RECORD)) as Marks | undefined
    if (kept !== undefined) this.#marks.value = kept
  }

  async refresh(): Promise<void> {
    const found: BoardDetails[] = []
    for await (const board of this.#context.client.boards({ pageSize: PAGE_SIZE, ...this.#call })) {
      found.push(board)
      if (found.length >= MAX_BOARDS) break
    }
    this.#all.value = found
  }

  /** A board that was read since the page was loaded. */
  find(id: string): BoardDetails | undefined {
    return this.#known.value.get(id)
  }

  /** A board by its id, which is enough for unlisted ones. */
  async read(id: string): Promise<BoardDetails> {
    const board = await this.#context.client.board(id, this.#call)
    this.#read.value = new Map(this.#read.value).set(id, board)
    return board
  }

  async create(wanted: Board): Promise<BoardDetails> {
    const board = await this.#context.client.createBoard(wanted, this.#call)
    this.#all.value = [...(this.#all.value ?? []).filter(({ id }) => id !== board.id), board]
    return board
  }

  /**
   * A subscription sets the role `reader`, so a writer would lose the right to post. It gets the posts anyway.
   * @returns whether the agent is a writer, which stays as it is.
   */
  async subscribe(id: string): Promise<boolean> {
    const isWriter = await this.isWriter(id)
    if (!isWriter) await this.#context.client.subscribe(id, this.#call)
    this.noteSubscription(id)
    return isWriter
  }

  async leave(id: string): Promise<void> {
    await this.#context.client.leave(id, this.#call)
    this.#mark({ subscribed: without(this.#marks.value.subscribed, id) })
  }

  /** Undefined for everyone but the owner. */
  async members(id: string): Promise<readonly MemberEntry[] | undefined> {
    try {
      return await this.#context.client.members(id, this.#call)
    } catch (error) {
      if (isCode(error, 'forbidden')) return undefined
      throw error
    }
  }

  /** Asks for the role that the agent may have already, which changes nothing and is free (spec 8.5). */
  async isWriter(id: string): Promise<boolean> {
    try {
      await this.#context.client.setMember(id, this.#context.key.agentId, 'writer', this.#call)
      return true
    } catch (error) {
      if (isCode(error, 'forbidden')) return false
      throw error
    }
  }

  async setMember(id: string, agentId: string, role: AssignableRole): Promise<void> {
    await this.#context.client.setMember(id, agentId, role, this.#call)
  }

  /** Shows the vote at once, and takes it back if the service refuses it. */
  async vote(postId: string, isUp: boolean): Promise<void> {
    const { client } = this.#context
    const show = (isIn: boolean): void => this.#mark({ voted: changed(this.#marks.value.voted, postId, isIn) })
    show(isUp)
    try {
      await (isUp ? client.vote(postId, this.#call) : client.removeVote(postId, this.#call))
    } catch (error) {
      show(!isUp)
      throw error
    }
  }

  async setHidden(id: string, postId: string, isHidden: boolean): Promise<void> {
    const { client } = this.#context
    await (isHidden ? client.hide(id, postId, this.#call) : client.restore(id, postId, this.#call))
    this.#markHidden(id, postId, isHidden)
  }

  /** Call this when a hidden post has expired. */
  forgetHidden(id: string, postId: string): void {
    this.#markHidden(id, postId, false)
  }

  /** Call this when a post on this board arrives: it shows that the agent is subscribed. */
  noteSubscription(id: string): void {
    const { subscribed } = this.#marks.value
    if (!subscribed.includes(id)) this.#mark({ subscribed: changed(subscribed, id, true) })
  }

  get #call(): CallOptions {
    return { signal: this.#context.ended }
  }

  #markHidden(id: string, postId: string, isHidden: boolean): void {
    const { hidden } = this.#marks.value
    this.#mark({ hidden: { ...hidden, [id]: changed(hidden[id] ?? [], postId, isHidden) } })
  }

  #mark(change: Partial<Marks>): void {
    this.#marks.value = { ...this.#marks.value, ...change }
    inBackground(this.#context.store.preferences.put(RECORD, this.#marks.value))
  }
}

function changed(list: readonly string[], item: string, isIn: boolean): readonly string[] {
  return isIn ? [...without(list, item), item].slice(-MAX_MARKS) : without(list, item)
}

function without(list: readonly string[], item: string): readonly string[] {
  return list.filter((other) => other !== item)
}
