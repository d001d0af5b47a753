/** GET /v2/boards/{board}/messages. Source: spec 7.9, 7.12, 7.16, 8.2, 8.8, 8.9. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Agent, call } from '../../support/client/agent.ts'
import { got, outcomeOf } from '../../support/client/answers.ts'
import { newBoard, putRole } from '../../support/client/boards.ts'
import { type ListedMessage, readList, readPages } from '../../support/client/pages.ts'
import { type SharedHarness, shareHarness } from '../../support/system/harness.ts'

let h: SharedHarness
let olga: Agent
let wes: Agent
let eve: Agent
let board: string
let root: string
/** Every post in the order of arrival. Posts at odd positions are of one thread. */
let posts: string[]

beforeAll(async () => {
  h = await shareHarness('usual')
  ;[olga, wes, eve] = await h.agents(3)
  board = await newBoard(olga, { posting: 'anyone' })
  root = (await got(wes.send(`board:${board}`, 'root'))).body.msg_id
  posts = [root]
  for (let at = 1; at < 8; at += 1) {
    const author = at % 3 === 0 ? olga : wes
    const { msg_id } = (await got(author.send(`board:${board}`, at, at % 2 === 1 ? { thread_id: root } : {}))).body
    posts.push(msg_id)
  }
})
afterAll(() => h[Symbol.asyncDispose]())

const idsOn = (page: { body: { messages: ListedMessage[] } }) => page.body.messages.map(({ envelope }) => envelope.id)
const thread = () => [root, ...posts.filter((_, at) => at % 2 === 1)]

describe('spec 7.9: posts in the order of arrival', () => {
  test.each([3])('pages of %d contain each once, over both gateways; the last has no cursor', async (limit) => {
    const pages = await readPages(eve, `/v2/boards/${board}/messages?limit=${limit}`)
    expect(pages.flatMap(idsOn)).toEqual(posts)
    expect(pages).toHaveLength(Math.ceil(posts.length / limit))
    const first = await got(call(h.place, 'GET', `/v2/boards/${board}/messages?limit=${limit}`))
    expect(first.text).toBe(pages[0]?.text)
    for (const url of h.system.urls) {
      expect((await got(olga.get(`/v2/boards/${board}/messages?limit=${limit}`, { url }))).text).toBe(first.text)
    }
  })

  test.each([2])('spec 7.12: by thread, the root and its members, in pages of %d', async (limit) => {
    const pages = await readPages(eve, `/v2/boards/${board}/messages?thread_id=${root}&limit=${limit}`)
    expect(pages.flatMap(idsOn)).toEqual(thread())
  })
})

describe('spec 7.9: after', () => {
  test('a cursor of this board is valid for every agent and every filter; any other is 400', async () => {
    const path = `/v2/boards/${board}/messages`
    const { next_cursor } = (await got(eve.get(`${path}?limit=1`))).body
    expect(idsOn(await got(call(h.place, 'GET', `${path}?after=${next_cursor}`)))).toEqual(posts.slice(1))
    expect(idsOn(await got(wes.get(`${path}?after=${next_cursor}&thread_id=${root}`)))).toEqual(thread().slice(1))
    const exported = (await got(wes.get('/v2/export?limit=1'))).body.next_cursor
    const other = await newBoard(olga)
    for (const after of ['', 'x', '1', `${next_cursor}A`, next_cursor.slice(1), exported]) {
      expect(outcomeOf(await eve.get(`${path}?after=${after}`))).toBe('400 invalid_cursor')
    }
    expect(outcomeOf(await eve.get(`/v2/boards/${other}/messages?after=${next_cursor}`))).toBe('400 invalid_cursor')
  })
})

test('spec 7.16, 8.2, 12.2: the feeds of a private and an unknown board are the same 404, byte for byte, with a valid cursor too', async () => {
  const closed = await newBoard(olga, { visibility: 'private' })
  await got(putRole(olga, closed, wes, 'reader'))
  for (let count = 0; count < 2; count += 1) await got(olga.send(`board:${closed}`))
  const { next_cursor } = (await got(wes.get(`/v2/boards/${closed}/messages?limit=1`))).body
  expect(await readList(wes, `/v2/boards/${closed}/messages`)).toHaveLength(2)
  await got(putRole(olga, closed, wes, 'none'))
  for (const query of ['', `?after=${next_cursor}`, '?after=x', '?thread_id=x']) {
    const answers = [
      await wes.get(`/v2/boards/${closed}/messages${query}`),
      await eve.get(`/v2/boards/${closed}/messages${query}`),
      await call(h.place, 'GET', `/v2/boards/${closed}/messages${query}`),
      await eve.get(`/v2/boards/${'0'.repeat(20)}/messages${query}`),
      await eve.get(`/v2/boards/no-board/messages${query}`),
    ]
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    expect(outcomeOf(answers[0] ?? (await eve.get('/')))).toBe('404 not_found')
  }
})

test('spec 3.1: a signature that is supplied must be valid', async () => {
  const bad = await eve.get(`/v2/boards/${board}/messages`, { sign: { method: 'POST' } })
  expect(outcomeOf(bad)).toBe('401 signature_invalid')
})
