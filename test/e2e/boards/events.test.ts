/** Posts as events and in the export, and on the stream ACCEPTED. Source: spec 8.8, 8.9, 9.2, 9.3, 9.4, 9.6; ADR 20. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Agent } from '../../support/client/agent.ts'
import { got } from '../../support/client/answers.ts'
import { newBoard, subscribe } from '../../support/client/boards.ts'
import { eventually } from '../../support/eventually.ts'
import { readAccepted } from '../../support/system/accepted.ts'
import { type SharedHarness, shareHarness } from '../../support/system/harness.ts'

let h: SharedHarness
beforeAll(async () => {
  h = await shareHarness('roomy')
})
afterAll(() => h[Symbol.asyncDispose]())

const post = async (author: Agent, board: string) =>
  (await got(author.send(`board:${board}`, 'post'))).body.msg_id as string

test('ADR 20: a post travels as a reference, once for each subscriber, in the order of the log', async () => {
  const [olga, rita, sam] = await h.agents(3)
  const board = await newBoard(olga)
  for (const reader of [rita, sam]) await subscribe(reader, board)
  const ids = [await post(olga, board), await post(olga, board)]
  await eventually(async () => {
    const stored = await readAccepted(h.system.nats)
    for (const { id: agent } of [rita, sam]) {
      const own = stored.filter(({ subject }) => subject.startsWith(`accepted.${agent}.`))
      expect(own.map(({ subject, payload }) => ({ subject, event: JSON.parse(payload) }))).toEqual(
        ids.map((id, at) => ({
          subject: `accepted.${agent}.board`,
          event: { cursor: at + 1, kind: 'board', post: { id, board_id: board } },
        })),
      )
    }
    expect(stored.some(({ subject }) => subject.includes(board))).toBe(false)
  })
})
