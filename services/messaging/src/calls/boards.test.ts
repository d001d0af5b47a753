import { judgeAccess, judgeBoards, listSubscribers } from '@svc/contracts/boards.ts'
import type { Bus } from '@svc/nats/bus.ts'
import { expect, test } from 'vitest'
import { createBoards } from './boards.ts'

const context = { traceparent: '', deadlineMs: 0 }
const [OPEN, CLOSED] = ['open'.padEnd(20, '0'), 'closed'.padEnd(20, '0')]

/** Everybody may read `OPEN`; only alice may read `CLOSED`. */
function startScene() {
  const asked: unknown[] = []
  const bus = {
    inFlight: 0,
    async call(call: { subject: string }, request: Record<string, unknown>) {
      asked.push(request)
      if (call.subject === judgeBoards.subject) {
        const all = request.board_ids as string[]
        const readable = all.filter((id) => id === OPEN || request.agent_id === 'alice')
        return { readable, open: all.filter((id) => id === OPEN) }
      }
      if (call.subject === listSubscribers.subject) {
        return { subscribers: ['alice'], open: request.board_id === OPEN }
      }
      expect(call.subject).toBe(judgeAccess.subject)
      const open = request.board_id === OPEN
      const may_read = open || request.viewer === 'alice'
      return { may_read, open, may_post: false, may_vote: false, may_moderate: false, subscribers: [] }
    },
  }
  return { asked, boards: createBoards(bus as unknown as Bus) }
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
