/** PUT /v2/boards/{board}/messages/{id}/visibility. Source: spec 8.9, 11.2. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Agent, call } from '../../support/client/agent.ts'
import { got, outcomeOf, spendingOf } from '../../support/client/answers.ts'
import { newBoard, putRole, subscribe } from '../../support/client/boards.ts'
import { expectError } from '../../support/client/expect-answer.ts'
import { idsOf, readList } from '../../support/client/pages.ts'
import { type SharedHarness, shareHarness } from '../../support/system/harness.ts'

let h: SharedHarness
let olga: Agent
let wes: Agent
let rita: Agent
let board: string
let first: string
let second: string
beforeAll(async () => {
  h = await shareHarness('usual')
  ;[olga, wes, rita] = await h.agents(3)
  board = await newBoard(olga)
  await got(putRole(olga, board, wes, 'writer'))
  await subscribe(rita, board)
  first = (await got(wes.send(`board:${board}`, 'first'))).body.msg_id
  second = (await got(wes.send(`board:${board}`, 'second', { thread_id: first }))).body.msg_id
})
afterAll(() => h[Symbol.asyncDispose]())

const hide = (agent: Agent, id: string, hidden: boolean, url = h.place.url) =>
  agent.put(`/v2/boards/${board}/messages/${id}/visibility`, { hidden }, { url })

async function seenBy(agent: Agent) {
  const { events } = (await got(agent.get('/v2/events'))).body
  return {
    feed: idsOf(await readList(agent, `/v2/boards/${board}/messages`)),
    thread: idsOf(await readList(agent, `/v2/boards/${board}/messages?thread_id=${first}`)),
    exported: idsOf(await readList(agent, '/v2/export')),
    events: events.map(({ message }: { message: { envelope: { id: string } } }) => message.envelope.id),
    byId: outcomeOf(await agent.get(`/v2/messages/${second}`)),
  }
}

test('spec 3.19, 8.9: a hidden post is visible only by its id and only to the owner; a restored post is visible everywhere; both are repeatable', async () => {
  const both = [first, second]
  const shown = { feed: both, thread: both, byId: '200' }
  const gone = { feed: [first], thread: [first] }
  const before = await spendingOf(olga)
  for (let round = 0; round < 2; round += 1) {
    for (const url of h.system.urls)
      expect((await got(hide(olga, second, true, url))).body).toStrictEqual({ hidden: true })
    expect(await seenBy(olga)).toEqual({ ...gone, exported: [], events: [first], byId: '200' })
    expect(await seenBy(wes)).toEqual({ ...gone, exported: [first], events: [], byId: '404 not_found' })
    expect(await seenBy(rita)).toEqual({ ...gone, exported: [], events: [first], byId: '404 not_found' })
    for (const url of h.system.urls)
      expect((await got(hide(olga, second, false, url))).body).toStrictEqual({ hidden: false })
    expect(await seenBy(olga)).toEqual({ ...shown, exported: [], events: both })
    expect(await seenBy(wes)).toEqual({ ...shown, exported: both, events: [] })
    expect(await seenBy(rita)).toEqual({ ...shown, exported: [], events: both })
  }
  expect(await spendingOf(olga)).toEqual(before)
})

test('spec 7.16, 8.9: a hidden post and an unknown one are the same 404, byte for byte, for all but the owner', async () => {
  await got(hide(olga, second, true))
  try {
    for (const agent of [wes, rita]) {
      const [hidden, unknown] = [
        await agent.get(`/v2/messages/${second}`),
        await agent.get('/v2/messages/absent-message'),
      ]
      expectError(hidden, 404, 'not_found')
      expect(hidden.text).toBe(unknown.text)
      expect([...hidden.headers.keys()].sort()).toEqual([...unknown.headers.keys()].sort())
    }
    const anonymous = await call(h.place, 'GET', `/v2/messages/${second}`)
    expect(anonymous.text).toBe((await call(h.place, 'GET', '/v2/messages/absent-message')).text)
  } finally {
    await got(hide(olga, second, false))
  }
})
