import { judgeAccess, judgeBoards, listSubscribers } from '@svc/contracts/boards.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { Bus } from '@svc/nats/bus.ts'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createBoards } from './boards.ts'

const context = { traceparent: '', deadlineMs: 0 }
const [OPEN, CLOSED] = ['open'.padEnd(20, '0'), 'closed'.padEnd(20, '0')]

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Everybody may read `OPEN`, until it is taken down; only alice may read `CLOSED`. */
function startScene() {
  const asked: unknown[] = []
  const state = { takenDown: false, isAway: false }
  const isOpen = (id: unknown) => id === OPEN && !state.takenDown
  const bus = {
    inFlight: 0,
    async call(call: { subject: string }, request: Record<string, unknown>) {
      asked.push(request)
      if (state.isAway) throw new ServiceError('unavailable')
      if (call.subject === judgeBoards.subject) {
        const all = request.board_ids as string[]
        const readable = all.filter((id) => isOpen(id) || (id === CLOSED && request.agent_id === 'alice'))
        return { readable, open: all.filter(isOpen) }
      }
      if (call.subject === listSubscribers.subject) {
        const open = isOpen(request.board_id)
        return { subscribers: open || request.board_id === CLOSED ? ['alice'] : [], open }
      }
      expect(call.subject).toBe(judgeAccess.subject)
      const open = isOpen(request.board_id)
      const may_read = open || (request.board_id === CLOSED && request.viewer === 'alice')
      return { may_read, open, may_post: false, may_vote: false, may_moderate: false, subscribers: [] }
    },
  }
  return { asked, state, boards: createBoards(bus as unknown as Bus) }
}

test('spec 8.2: an open board is judged once, and any other board each time', async () => {
  const { asked, boards } = startScene()
  for (const viewer of [null, 'bob', 'alice', null]) expect(await boards.mayRead(OPEN, viewer, context)).toBe(true)
  expect(asked).toHaveLength(1)
  for (const viewer of ['alice', null, 'bob', 'alice']) {
    expect(await boards.mayRead(CLOSED, viewer, context)).toBe(viewer === 'alice')
  }
  expect(asked).toHaveLength(5)
})

test('spec 8.2: of many boards only those that are not open are judged', async () => {
  const { asked, boards } = startScene()
  expect(await boards.listReadable('bob', [OPEN, CLOSED], context)).toEqual([OPEN])
  asked.length = 0
  expect(await boards.listReadable('bob', [OPEN], context)).toEqual([OPEN])
  expect(asked).toEqual([])
  expect(await boards.listReadable('bob', [CLOSED, OPEN], context)).toEqual([OPEN])
  expect(await boards.listReadable('alice', [CLOSED, OPEN], context)).toEqual([CLOSED, OPEN])
  expect(asked).toMatchObject([{ board_ids: [CLOSED] }, { board_ids: [CLOSED] }])
})

test('spec 8.2: an open board is judged once for many agents, which may all read it; any other board is judged each time', async () => {
  const { asked, boards } = startScene()
  for (let time = 0; time < 2; time += 1) {
    expect(await boards.listReaders(OPEN, ['bob', 'alice'], context)).toEqual(['bob', 'alice'])
    expect(await boards.listReaders(CLOSED, ['bob', 'alice'], context)).toEqual(['alice'])
  }
  expect(asked).toMatchObject([{ board_id: OPEN }, { board_id: CLOSED }, { board_id: CLOSED }])
})

test('spec 8.4, 8.10; ADR 5: the rights to post and to vote are judged each time', async () => {
  const { asked, boards } = startScene()
  for (let time = 0; time < 2; time += 1) {
    await boards.judge(OPEN, 'bob', context)
    await boards.judgePost(OPEN, 'bob', context)
  }
  expect(asked).toHaveLength(4)
})

const READS: [string, (boards: ReturnType<typeof createBoards>) => Promise<boolean>][] = [
  ['mayRead', (boards) => boards.mayRead(OPEN, 'bob', context)],
  ['listReadable', async (boards) => (await boards.listReadable('bob', [OPEN], context)).length > 0],
  ['listReaders', async (boards) => (await boards.listReaders(OPEN, ['bob'], context)).length > 0],
]

test.each(READS)(
  'spec 12.4: %s: nobody reads a board a second after it was taken down, and everybody after it was restored',
  async (_, read) => {
    const { asked, state, boards } = startScene()
    expect(await read(boards)).toBe(true)
    state.takenDown = true
    vi.advanceTimersByTime(1_000)
    expect([await read(boards), await read(boards)]).toEqual([false, false])
    state.takenDown = false
    expect([await read(boards), await read(boards)]).toEqual([true, true])
    expect(asked).toHaveLength(4)
  },
)

test.each(READS)(
  'spec 8.2: %s: a board that was open stays open while boards does not answer, and no other board does',
  async (_, read) => {
    const { state, boards } = startScene()
    expect(await read(boards)).toBe(true)
    state.isAway = true
    vi.advanceTimersByTime(60_000)
    expect(await read(boards)).toBe(true)
    await expect(boards.mayRead(CLOSED, 'alice', context)).rejects.toThrow(ServiceError)
    await expect(boards.listReadable('alice', [OPEN, CLOSED], context)).rejects.toThrow(ServiceError)
    state.isAway = false
    state.takenDown = true
    expect(await read(boards)).toBe(false)
    state.isAway = true
    await expect(read(boards)).rejects.toThrow(ServiceError)
  },
)
