import { type ReadonlySignal, signal } from '@preact/signals'
import type { AssignableRole, Board, BoardDetails, MemberEntry } from '@svc/contracts/resources.ts'
import type { AgentContext } from '../agent/context.ts'
import { hasCode, inBackground } from '../failures.ts'

/** Facts that the service does not tell a member, so this browser keeps them. */
interface Marks {
  readonly subscribed: readonly string[]
  readonly voted: readonly string[]
  /** Posts that were hidden here, by board. The lists of the service leave them out, also for the owner. */
  readonly hidden: Readonly<Record<string, readonly string[]>>
}

export interface Boards {
  readonly all: ReadonlySignal<readonly BoardDetails[] | undefined>
  readonly marks: ReadonlySignal<Marks>
  load(): Promise<void>
  refresh(): Promise<void>
  /** A board by its id, which is enough for unlisted ones. */
  read(id: string): Promise<BoardDetails>
  create(board: Board): Promise<BoardDetails>
  subscribe(id: string): Promise<void>
  leave(id: string): Promise<void>
  /** Undefined for everyone but the owner. */
  members(id: string): Promise<readonly MemberEntry[] | undefined>
  setMember(id: string, agentId: string, role: AssignableRole): Promise<void>
  vote(postId: string, isUp: boolean): Promise<void>
  setHidden(id: string, postId: string, isHidden: boolean): Promise<void>
  /** Call this when a post on this board arrives: it shows that the agent is subscribed. */
  noteSubscription(id: string): void
}

const PAGE_SIZE = 100
const MAX_BOARDS = 1_000
const MAX_MARKS = 5_000
const RECORD = 'boards'

export function createBoards({ client, store, ended }: AgentContext): Boards {
  const all = signal<readonly BoardDetails[] | undefined>(undefined)
  const marks = signal<Marks>({ subscribed: [], voted: [], hidden: {} })
  const call = { signal: ended }

  function mark(change: Partial<Marks>): void {
    marks.value = { ...marks.value, ...change }
    inBackground(store.preferences.put(RECORD, marks.value))
  }

  function keep(board: BoardDetails): BoardDetails {
    all.value = [...(all.value ?? []).filter(({ id }) => id !== board.id), board]
    return board
  }

  function noteSubscription(id: string): void {
    if (!marks.value.subscribed.includes(id)) mark({ subscribed: withItem(marks.value.subscribed, id) })
  }

  return {
    all,
    marks,
    noteSubscription,
    async load() {
      marks.value = ((await store.preferences.get(RECORD)) as Marks | undefined) ?? marks.value
    },
    async refresh() {
      const found: BoardDetails[] = []
      for await (const board of client.boards({ pageSize: PAGE_SIZE, ...call })) {
        found.push(board)
        if (found.length >= MAX_BOARDS) break
      }
      all.value = found
    },
    read: async (id) => client.board(id, call),
    create: async (board) => keep(await client.createBoard(board, call)),
    async subscribe(id) {
      await client.subscribe(id, call)
      noteSubscription(id)
    },
    async leave(id) {
      await client.leave(id, call)
      mark({ subscribed: without(marks.value.subscribed, id) })
    },
    async members(id) {
      try {
        return await client.members(id, call)
      } catch (error) {
        if (hasCode(error, 'forbidden')) return undefined
        throw error
      }
    },
    async setMember(id, agentId, role) {
      await client.setMember(id, agentId, role, call)
    },
    async vote(postId, isUp) {
      if (isUp) await client.vote(postId, call)
      else await client.removeVote(postId, call)
      mark({ voted: isUp ? withItem(marks.value.voted, postId) : without(marks.value.voted, postId) })
    },
    async setHidden(id, postId, isHidden) {
      if (isHidden) await client.hide(id, postId, call)
      else await client.restore(id, postId, call)
      const before = marks.value.hidden[id] ?? []
      const after = isHidden ? withItem(before, postId) : without(before, postId)
      mark({ hidden: { ...marks.value.hidden, [id]: after } })
    },
  }
}

function withItem(list: readonly string[], item: string): readonly string[] {
  return [...without(list, item), item].slice(-MAX_MARKS)
}

function without(list: readonly string[], item: string): readonly string[] {
  return list.filter((other) => other !== item)
}
