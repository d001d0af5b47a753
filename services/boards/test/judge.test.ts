import {
  type BoardAccess,
  JUDGED_BOARDS_MAX,
  judgeAccess,
  judgeBoards,
  listSubscribers,
} from '@svc/contracts/boards.ts'
import type { BoardDetails, BoardVisibility, PostingMode } from '@svc/contracts/resources.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Harness, newAgent, newAgents, startHarness } from './harness.ts'

let h: Harness
beforeAll(async () => {
  h = await startHarness()
})
afterAll(() => h[Symbol.asyncDispose]())

const NOTHING = { may_read: false, open: false, may_post: false, may_vote: false, may_moderate: false, subscribers: [] }
const ABSENT = '00000000000000000000'

const judge = (boardId: string, viewer: string | null, with_subscribers = true): Promise<BoardAccess> =>
  h.call(judgeAccess, { board_id: boardId, viewer, with_subscribers })

/** A board with an agent in each role. */
async function boardWithRoles(
  visibility: BoardVisibility,
  posting: PostingMode,
): Promise<{ board: BoardDetails; agents: Record<'owner' | 'writer' | 'reader' | 'banned' | 'none', string> }> {
  const [owner = '', writer = '', reader = '', banned = '', none = ''] = newAgents(5)
  const board = await h.create(owner, { visibility, posting })
  for (const [agent, role] of [
    [writer, 'writer'],
    [reader, 'reader'],
    [banned, 'banned'],
  ] as const) {
    expect(await h.assign(board.id, owner, agent, role)).toBe('ok')
  }
  return { board, agents: { owner, writer, reader, banned, none } }
}

describe('spec 8.2, 8.4, 8.8, 8.9, 8.10: the rights that messaging gets for a viewer', () => {
  test('spec 7.16, 8.4: an absent board is judged like an unreadable one', async () => {
    const { id } = await h.create(newAgent(), { visibility: 'private' })
    for (const board of [id, ABSENT]) {
      for (const viewer of [newAgent(), null]) expect(await judge(board, viewer)).toEqual(NOTHING)
    }
  })

  test('spec 8.8: a board of 100 subscribers, all in one answer; a stranger who posts gets them and the owner', async () => {
    const owner = newAgent()
    const { id } = await h.create(owner, { posting: 'anyone' })
    const agents = newAgents(100)
    for (const agent of agents) expect(await h.assign(id, agent, agent, 'reader')).toBe('ok')
    expect((await judge(id, owner)).subscribers).toEqual(agents.toSorted())
    expect((await judge(id, newAgent())).subscribers).toEqual([owner, ...agents].toSorted())
    const [first = ''] = agents
    expect((await judge(id, first)).subscribers).toEqual([owner, ...agents.slice(1)].toSorted())
  })

  test('each of many concurrent questions is answered for its own board and viewer', async () => {
    const rows = await Promise.all(
      Array.from({ length: 30 }, async (_, at) => {
        const owner = newAgent()
        const board = await h.create(owner, { visibility: at % 2 === 0 ? 'private' : 'public' })
        return { owner, board }
      }),
    )
    const answers = await Promise.all(
      rows.flatMap(({ board, owner }) => [judge(board.id, owner), judge(board.id, null), judge(ABSENT, owner)]),
    )
    for (const [at, { board }] of rows.entries()) {
      expect(answers[at * 3]).toMatchObject({ may_post: true, may_moderate: true })
      expect(answers[at * 3 + 1]).toMatchObject({ may_read: board.visibility === 'public', may_post: false })
      expect(answers[at * 3 + 2]).toEqual(NOTHING)
    }
  })
})

describe('spec 8.2, 9.5: who may read the boards whose posts are events', () => {
  test('for many boards: those that the agent may read, and those open to everybody, even if it left one or is banned from it', async () => {
    const kinds = [
      ['public', 'members'],
      ['unlisted', 'anyone'],
      ['private', 'members'],
    ] as const
    const made = await Promise.all(kinds.map(([visibility, posting]) => boardWithRoles(visibility, posting)))
    for (const role of ['owner', 'writer', 'reader', 'banned', 'none'] as const) {
      const subscribed = role === 'owner' || role === 'writer' || role === 'reader'
      for (const { board, agents } of made) {
        const asked = [...made.map((one) => one.board.id), ABSENT]
        const answer = await h.call(judgeBoards, { agent_id: agents[role], board_ids: asked })
        const open = made.filter((one) => one.board.visibility !== 'private').map((one) => one.board.id)
        const readable = subscribed ? new Set([...open, board.id]) : new Set(open)
        expect(answer.readable.toSorted()).toEqual([...readable].toSorted())
        expect(answer.open.toSorted()).toEqual(open.toSorted())
      }
    }
  })

  test.each([
    ['public', true],
    ['unlisted', true],
    ['private', false],
  ] as const)(
    'a %s board is open to everybody: %s; its owner, writers and readers are named',
    async (visibility, open) => {
      const { board, agents } = await boardWithRoles(visibility, 'members')
      const subscribers = [agents.owner, agents.writer, agents.reader].toSorted()
      expect(await h.call(listSubscribers, { board_id: board.id })).toEqual({ open, subscribers })
    },
  )

  test('no subscribers for an absent board', async () => {
    expect(await h.call(listSubscribers, { board_id: ABSENT })).toEqual({ open: false, subscribers: [] })
  })

  test('the maximum number of boards in one question', async () => {
    const owner = newAgent()
    const { id } = await h.create(owner)
    const ids = Array.from({ length: JUDGED_BOARDS_MAX - 1 }, (_, at) => String(at).padStart(20, '0'))
    const answer = await h.call(judgeBoards, { agent_id: owner, board_ids: [...ids, id] })
    expect(answer).toEqual({ readable: [id], open: [id] })
  })
})

describe('a judgement shows a board at one moment', () => {
  /** Swaps the two in one transaction, so that at any moment exactly one of them is a member. */
  const swap = (boardId: string, out: string, into: string): Promise<unknown> =>
    h.admin.transaction(async (tx) => {
      await tx`delete from boards.memberships where board_id = ${boardId} and agent_id = ${out}`
      await tx`insert into boards.memberships (board_id, agent_id, role) values (${boardId}, ${into}, 'writer')`
    })

  test('verdicts and subscribers never mix the states before and after a change', async () => {
    const [owner = '', first = '', second = ''] = newAgents(3)
    const { id } = await h.create(owner)
    await h.assign(id, owner, first, 'writer')
    const seen = new Set<string>()
    let done = false
    const judging = Array.from({ length: 6 }, async () => {
      while (!done) {
        const { may_post, subscribers } = await judge(id, first)
        // The first agent does not get its own post. If the list held the second agent, the first would have no right
        // to post.
        expect(subscribers).toEqual(may_post ? [owner] : [])
        const all = (await judge(id, owner)).subscribers
        expect(all).toHaveLength(1)
        seen.add(all[0] ?? '')
      }
    })
    for (let round = 0; round < 40 || seen.size < 2; round += 1) {
      const [out, into] = round % 2 === 0 ? [first, second] : [second, first]
      await swap(id, out, into)
    }
    done = true
    await Promise.all(judging)
    expect(seen).toEqual(new Set([first, second]))
  })

  test('every judgement that begins after a change was answered sees it, in any process', async () => {
    const [owner = '', agent = ''] = newAgents(2)
    const { id } = await h.create(owner, { visibility: 'private' })
    for (let round = 0; round < 20; round += 1) {
      await h.assign(id, owner, agent, 'writer')
      const inside = await Promise.all(Array.from({ length: 5 }, () => judge(id, owner)))
      for (const { subscribers } of inside) expect(subscribers).toEqual([agent])
      await h.assign(id, agent, agent, 'none')
      const outside = await Promise.all(Array.from({ length: 5 }, () => judge(id, agent)))
      for (const answer of outside) expect(answer).toEqual(NOTHING)
    }
  })
})
