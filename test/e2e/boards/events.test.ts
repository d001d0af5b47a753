/** Posts as events and in the export, and on the stream ACCEPTED. Source: spec 8.8, 8.9, 9.2, 9.3, 9.4, 9.6; ADR 20. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Agent } from '../../support/client/agent.ts'
import { got, outcomeOf } from '../../support/client/answers.ts'
import { newBoard, putRole, type Role, subscribe, type Visibility } from '../../support/client/boards.ts'
import { idsOf, readList } from '../../support/client/pages.ts'
import { eventually } from '../../support/eventually.ts'
import { readAccepted } from '../../support/system/accepted.ts'
import { type SharedHarness, shareHarness } from '../../support/system/harness.ts'

let h: SharedHarness
beforeAll(async () => {
  h = await shareHarness('roomy')
})
afterAll(() => h[Symbol.asyncDispose]())

interface Event {
  cursor: number
  kind: string
  message: { envelope: { id: string }; lane: string }
}

const post = async (author: Agent, board: string) =>
  (await got(author.send(`board:${board}`, 'post'))).body.msg_id as string

async function eventsOf(agent: Agent, query = '') {
  const { body } = await got(agent.get(`/v2/events${query}`))
  return {
    cursors: body.events.map(({ cursor }: Event) => cursor),
    next: body.next_cursor,
    events: body.events as Event[],
  }
}

test('spec 9.2: three kinds, one for each lane, in the order of acceptance', async () => {
  const [olga, rita, eve] = await h.agents(3)
  const board = await newBoard(olga)
  await subscribe(rita, board)
  await got(rita.put(`/v2/contacts/${olga.id}`, { state: 'accepted' }))
  const ids = [
    await post(olga, board),
    (await got(olga.send(rita))).body.msg_id,
    (await got(eve.send(rita))).body.msg_id,
    await post(olga, board),
  ]
  const kinds = ['board', 'inbox', 'requests', 'board']
  const { events } = await eventsOf(rita)
  expect(
    events.map(({ cursor, kind, message }) => ({ cursor, kind, lane: message.lane, id: message.envelope.id })),
  ).toEqual(ids.map((id, at) => ({ cursor: at + 1, kind: kinds[at], lane: kinds[at], id })))
  for (const { message } of events) {
    expect((await got(rita.get(`/v2/messages/${message.envelope.id}`))).body).toStrictEqual(message)
  }
  // spec 8.8: the author gets none.
  expect((await eventsOf(olga)).events).toEqual([])
  // spec 7.11: the inbox contains only DMs, so no inbox has a post.
  expect(idsOf(await readList(rita, '/v2/inbox'))).toEqual([ids[1]])
  expect(idsOf(await readList(rita, '/v2/inbox?lane=requests'))).toEqual([ids[2]])
})

describe('spec 9.4: access is checked when events are read', () => {
  test.each<[Visibility, Role, by: 'self' | 'owner']>([['public', 'banned', 'owner']])(
    'a reader of a %s board keeps its events when its role becomes %s (set by %s)',
    async (visibility, role, by) => {
      const [olga, rita] = await h.agents(2)
      const board = await newBoard(olga, { visibility })
      await got(putRole(olga, board, rita, 'reader'))
      const id = await post(olga, board)
      await got(putRole(by === 'self' ? rita : olga, board, rita, role))
      await post(olga, board)
      for (const url of h.system.urls) {
        const { events, next_cursor } = (await got(rita.get('/v2/events', { url }))).body
        expect(events.map(({ message }: Event) => message.envelope.id)).toEqual([id])
        expect(next_cursor).toBe(1)
      }
    },
  )

  test.each<[Role, by: 'self' | 'owner']>([['banned', 'owner']])(
    'when the role of a reader of a private board becomes %s (set by %s), its events are skipped, and the page continues',
    async (role, by) => {
      const [olga, rita] = await h.agents(2)
      const [board, other] = [await newBoard(olga, { visibility: 'private' }), await newBoard(olga)]
      await got(putRole(olga, board, rita, 'reader'))
      await subscribe(rita, other)
      for (const to of [board, other, board, board, other, board]) await post(olga, to)
      expect((await eventsOf(rita)).cursors).toEqual([1, 2, 3, 4, 5, 6])
      await got(putRole(by === 'self' ? rita : olga, board, rita, role))
      for (const url of h.system.urls) {
        const page = await got(rita.get('/v2/events', { url }))
        expect(page.body.events.map(({ cursor }: Event) => cursor)).toEqual([2, 5])
        expect(page.body.next_cursor).toBe(6)
        expect(page.headers.get('x-svc-earliest-cursor')).toBe('1') // spec 9.6: the event is still retained
      }
      // spec 9.4: `limit` counts the events that are returned. Skipped events are not examined again.
      expect(await eventsOf(rita, '?limit=2')).toMatchObject({ cursors: [2, 5], next: 6 })
      expect(await eventsOf(rita, '?limit=1&after=2')).toMatchObject({ cursors: [5], next: 6 })
      expect(await eventsOf(rita, '?after=5')).toMatchObject({ cursors: [], next: 6 })
      await got(putRole(olga, board, rita, 'reader'))
      expect((await eventsOf(rita)).cursors).toEqual([1, 2, 3, 4, 5, 6])
    },
  )
})

describe('spec 7.15, 12.1: GET /v2/export: authored board posts', () => {
  test('has DMs and own posts in the order of acceptance, and no posts of others', async () => {
    const [olga, wes] = await h.agents(2)
    const board = await newBoard(olga, { posting: 'anyone' })
    await post(olga, board)
    const ids = [await post(wes, board), (await got(wes.send(olga))).body.msg_id, await post(wes, board)]
    expect(idsOf(await readList(wes, '/v2/export'))).toEqual(ids)
    expect(idsOf(await readList(wes, '/v2/export?limit=1'))).toEqual(ids)
  })

  test.each([
    ['public', 'banned', true],
    ['private', 'banned', false],
  ] as const)(
    'spec 7.15, 8.2: on a %s board where the author is now %s: accessible %s',
    async (visibility, role, isThere) => {
      const [olga, wes] = await h.agents(2)
      const board = await newBoard(olga, { visibility })
      await got(putRole(olga, board, wes, 'writer'))
      const id = await post(wes, board)
      const dm = (await got(wes.send(olga))).body.msg_id
      await got(putRole(olga, board, wes, role))
      expect(idsOf(await readList(wes, '/v2/export'))).toEqual(isThere ? [id, dm] : [dm])
      expect(outcomeOf(await wes.get(`/v2/messages/${id}`))).toBe(isThere ? '200' : '404 not_found')
    },
  )
})

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
