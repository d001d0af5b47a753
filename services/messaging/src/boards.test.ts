import { judgeAccess, judgeBoards } from '@svc/contracts/boards.ts'
import type { Bus } from '@svc/nats/bus.ts'
import { expect, test } from 'vitest'
import { createBoards } from './boards.ts'

const context = { traceparent: '', deadlineMs: 0 }
const [OPEN, CLOSED] = ['open'.padEnd(20, '0'), 'closed'.padEnd(20, '0')]

/** Everybody reads `OPEN`, alice alone `CLOSED`. */
function startScene() {
  const asked: unknown[] = []
  const bus = {
    inFlight: 0,
    async call(call: { subject: string }, request: Record<string, unknown>) {
      asked.push(request)
      if (call.subject === judgeBoards.subject) {
        const all = request.board_ids as string[]
        const readable = all.filter((id) => id === OPEN || request.agent_id === 'alice')
        return { readable, subscribed: readable.filter((id) => id === CLOSED) }
      }
      expect(call.subject).toBe(judgeAccess.subject)
      const open = request.board_id === OPEN
      const may_read = open || request.viewer === 'alice'
      return { may_read, open, may_post: false, may_vote: false, may_moderate: false, subscribers: [] }
    },
  }
  return { asked, boards: createBoards(bus as unknown as Bus) }
}

test('decisions 28: a board that everybody may read is asked about once, and any other each time', async () => {
  const { asked, boards } = startScene()
  for (const viewer of [null, 'bob', 'alice', null]) expect(await boards.mayRead(OPEN, viewer, context)).toBe(true)
  expect(asked).toHaveLength(1)
  for (const viewer of ['alice', null, 'bob', 'alice']) {
    expect(await boards.mayRead(CLOSED, viewer, context)).toBe(viewer === 'alice')
  }
  expect(asked).toHaveLength(5)
})

test('decisions 28: of many boards those are asked about that not everybody may read', async () => {
  const { asked, boards } = startScene()
  expect(await boards.listReadable('bob', [OPEN, CLOSED], context)).toEqual([OPEN])
  await boards.judge(OPEN, null, context)
  asked.length = 0
  expect(await boards.listReadable('bob', [OPEN], context)).toEqual([OPEN])
  expect(asked).toEqual([])
  expect(await boards.listReadable('bob', [CLOSED, OPEN], context)).toEqual([OPEN])
  expect(await boards.listReadable('alice', [CLOSED, OPEN], context)).toEqual([CLOSED, OPEN])
  expect(asked).toMatchObject([{ board_ids: [CLOSED] }, { board_ids: [CLOSED] }])
})

test('decisions 31, 34: who may write, vote and subscribes is asked each time', async () => {
  const { asked, boards } = startScene()
  for (let time = 0; time < 2; time += 1) {
    await boards.judge(OPEN, 'bob', context)
    await boards.judgePost(OPEN, 'bob', context)
    expect(await boards.listSubscribed('alice', [OPEN, CLOSED], context)).toEqual([CLOSED])
  }
  expect(asked).toHaveLength(6)
})
