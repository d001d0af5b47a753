import type { Sql } from '@svc/postgres/database.ts'
import { describe, expect, test } from 'vitest'
import { MAX_EXAMINED } from '../../src/store/read/events.ts'
import { createAppendPosts } from '../../src/store/send/append-posts.ts'
import { type Harness, newId, startHarness } from '../support/harness.ts'
import { outcomeOf } from '../support/outcome.ts'

/** Long after the retention has passed. */
const FAR = 4_000_000_000

const cursorsOf = (page: Awaited<ReturnType<Harness['events']>>) => page.events.map((event) => event.cursor)

/** Every page, as a client that follows `next_cursor` reads them. */
async function readAll(h: Harness, agent: string, limit: number): Promise<number[]> {
  const cursors: number[] = []
  for (let after = 0; ; ) {
    const page = await h.events(agent, after, limit)
    cursors.push(...cursorsOf(page))
    if (page.next === after) return cursors
    expect(page.next).toBeGreaterThan(after)
    after = page.next
  }
}

describe('events of three kinds, with access checked as they are read', () => {
  test.each([
    ['was removed from', 'none'],
    ['was banned from', 'banned'],
  ] as const)(
    'spec 9.3, 9.4: if an agent %s a private board, its events are skipped, and return when the agent is back',
    async (_how, role) => {
      await using h = await startHarness()
      const [board, other] = [h.boards.create('olga', { visibility: 'private' }), h.boards.create('olga')]
      for (const each of [board, other]) h.boards.setRole(each, 'rita', 'reader')
      for (const to of [board, other, board, board, other, board]) await h.send({ from: 'olga', to })
      h.boards.setRole(board, 'rita', role)
      expect(await h.events('rita')).toMatchObject({ events: [{ cursor: 2 }, { cursor: 5 }], next: 6 })
      // spec 9.4: `limit` counts the events returned.
      expect(await h.events('rita', 0, 2)).toMatchObject({ events: [{ cursor: 2 }, { cursor: 5 }], next: 6 })
      expect(await h.events('rita', 0, 1)).toMatchObject({ events: [{ cursor: 2 }], next: 2 })
      expect(await h.events('rita', 2, 1)).toMatchObject({ events: [{ cursor: 5 }], next: 6 })
      // spec 9.6: the latest cursor counts events that are skipped too.
      expect(await h.events('rita', 5, 1)).toMatchObject({ events: [], next: 6, earliest: 1, latest: 6 })
      h.boards.setRole(board, 'rita', 'writer')
      expect(cursorsOf(await h.events('rita'))).toEqual([1, 2, 3, 4, 5, 6])
    },
  )

  test.each([
    ['left', 'public', 'none'],
    ['was banned from', 'public', 'banned'],
    ['left', 'unlisted', 'none'],
    ['was banned from', 'unlisted', 'banned'],
  ] as const)(
    'spec 9.5: if an agent %s a board that is %s, it keeps its events and gets no more',
    async (_how, visibility, role) => {
      await using h = await startHarness()
      const board = h.boards.create('olga', { visibility })
      h.boards.setRole(board, 'rita', 'reader')
      const ids = [(await h.send({ from: 'olga', to: board })).id, (await h.send({ from: 'olga', to: board })).id]
      h.boards.setRole(board, 'rita', role)
      await h.send({ from: 'olga', to: board })
      expect((await h.events('rita')).events.map(({ id }) => id)).toEqual(ids)
      // spec 8.9: hidden posts are absent from the events of every reader.
      await h.setHidden('olga', board, ids[0] ?? '', true)
      expect(await h.events('rita')).toMatchObject({ events: [{ cursor: 2 }], next: 2 })
    },
  )

  test('spec 9.4: a page of skipped events makes progress, even if many boards refuse', async () => {
    await using h = await startHarness()
    const boards = Array.from({ length: 40 }, () => h.boards.create('olga', { visibility: 'private' }))
    for (const board of boards) h.boards.setRole(board, 'rita', 'reader')
    for (const to of boards) await h.send({ from: 'olga', to })
    await h.setContact('rita', 'olga', 'accepted')
    await h.send({ from: 'olga', to: 'rita' })
    for (const board of boards) h.boards.setRole(board, 'rita', 'none')
    for (const limit of [1, 2, 3, 7, 100]) expect(await readAll(h, 'rita', limit)).toEqual([41])
    // Each query leaves out the boards that the previous one refused, so no board is judged twice.
    h.boards.asked.length = 0
    const page = await h.events('rita', 0, 3)
    expect(page).toMatchObject({ events: [], next: 16 })
    expect(h.boards.asked).toHaveLength(16)
    expect(new Set(h.boards.asked).size).toBe(16)
  })

  test('spec 7.9, 9.4: long skipped posts do not count against the size of the page, and no later event is lost', async () => {
    await using h = await startHarness()
    const boards = Array.from({ length: 60 }, () => h.boards.create('olga', { visibility: 'private' }))
    for (const board of boards) h.boards.setRole(board, 'rita', 'reader')
    for (const to of boards) await h.send({ from: 'olga', to, body: 'x'.repeat(32_000) })
    const open = boards.filter((_, index) => index % 9 === 8)
    for (const board of boards) if (!open.includes(board)) h.boards.setRole(board, 'rita', 'none')
    const expected = boards.flatMap((board, index) => (open.includes(board) ? [index + 1] : []))
    for (const limit of [1, 2, 5, 100]) expect(await readAll(h, 'rita', limit)).toEqual(expected)
  })

  test('each board is judged once, and none if the page has no post', async () => {
    await using h = await startHarness()
    const board = h.boards.create('olga')
    h.boards.setRole(board, 'rita', 'reader')
    for (let count = 0; count < 5; count += 1) await h.send({ from: 'olga', to: board })
    h.boards.asked.length = 0
    await h.events('rita')
    expect(h.boards.asked).toEqual([board])
    await h.send({ from: 'stranger', to: 'rita' })
    h.boards.isDown = true
    expect(await outcomeOf(h.events('rita'))).toBe('unavailable')
    expect(cursorsOf(await h.events('rita', 5))).toEqual([6])
  })

  test('a call examines a bounded number of hidden posts, and the next call continues after them', async () => {
    await using h = await startHarness()
    const board = h.boards.create('olga')
    h.boards.setRole(board, 'rita', 'reader')
    const hidden = MAX_EXAMINED + 50
    await h.openAdmin()`
      with made as (
        insert into messaging.messages
          (place, id, digest, sender, recipient, lane, position, envelope, accepted_at, expires_at, batch, ordinal, hidden)
        select messaging.new_place(${FAR}, 2592000), 'hidden-' || n, '', 'olga', ${board}, 'board', n, '{}', 1, ${FAR}, 1, n, true
        from generate_series(1, ${hidden}::bigint) n returning place, position
      ), entered as (
        insert into messaging.entries (log, kind, position, message, expires_at)
        select 'rita', 'board', position, place, ${FAR} from made
      )
      insert into messaging.logs (id, head) values ('rita', ${hidden}), (${board}, ${hidden})`
    await h.send({ from: 'olga', to: board })
    const first = await h.events('rita')
    expect(first).toMatchObject({ events: [], next: MAX_EXAMINED })
    expect(cursorsOf(await h.events('rita', first.next))).toEqual([hidden + 1])
  })
})

describe('spec 7.15: GET /v2/export: authored board posts, while they are accessible', () => {
  test('sent and received DMs and own posts, by acceptance; none of others', async () => {
    await using h = await startHarness()
    const board = h.boards.create('olga', { posting: 'anyone' })
    await h.setPolicy('wes', 'open', 1)
    const root = await h.send({ from: 'olga', to: board })
    const ids = [
      (await h.send({ from: 'wes', to: board, threadId: root.id })).id,
      (await h.send({ from: 'olga', to: 'wes' })).id,
      (await h.send({ from: 'wes', to: board })).id,
    ]
    await h.send({ from: 'olga', to: board, threadId: root.id })
    for (const limit of [1, 2, 100]) {
      const found: string[] = []
      for (let after: string | null = null; after !== ''; ) {
        const page: Awaited<ReturnType<Harness['exported']>> = await h.exported('wes', { after, limit })
        found.push(...page.ids)
        after = page.next
      }
      expect(found).toEqual(ids)
    }
    // spec 7.12, 7.15: for a thread, the author's own posts in it.
    expect((await h.exported('wes', { thread_id: root.id })).ids).toEqual(ids.slice(0, 1))
    expect((await h.exported('olga', { thread_id: root.id })).ids).toHaveLength(2)
    expect((await h.exported('eve', { thread_id: root.id })).ids).toEqual([])
  })

  test.each([
    ['public', 'none', true],
    ['public', 'banned', true],
    ['private', 'none', false],
    ['private', 'banned', false],
  ] as const)('spec 7.15, 8.2: from a %s board where the author is %s now: %s', async (visibility, role, isThere) => {
    await using h = await startHarness()
    const board = h.boards.create('olga', { visibility })
    h.boards.setRole(board, 'wes', 'writer')
    const post = await h.send({ from: 'wes', to: board })
    const dm = await h.send({ from: 'wes', to: 'olga' })
    h.boards.setRole(board, 'wes', role)
    expect((await h.exported('wes')).ids).toEqual(isThere ? [post.id, dm.id] : [dm.id])
    expect((await h.exported('wes', { limit: 1 })).ids).toEqual([isThere ? post.id : dm.id])
  })

  test('a page of skipped posts makes progress, even if many boards refuse', async () => {
    await using h = await startHarness()
    const boards = Array.from({ length: 30 }, () => h.boards.create('olga', { visibility: 'private' }))
    for (const board of boards) h.boards.setRole(board, 'wes', 'writer')
    for (const to of boards) await h.send({ from: 'wes', to, body: 'x'.repeat(32_000) })
    const { id } = await h.send({ from: 'wes', to: 'olga' })
    for (const board of boards) h.boards.setRole(board, 'wes', 'none')
    for (const limit of [1, 2, 100]) {
      const found: string[] = []
      for (let after: string | null = null; after !== ''; ) {
        const page: Awaited<ReturnType<Harness['exported']>> = await h.exported('wes', { after, limit })
        expect(page.next).not.toBe(after)
        found.push(...page.ids)
        after = page.next
      }
      expect(found).toEqual([id])
    }
  })
})

test('spec 7.15; ADR 19: a page of an export ends before an unfinished post, and the next page continues in order', async () => {
  await using h = await startHarness()
  const board = h.boards.create('olga')
  const admin = h.openAdmin()
  await admin`begin`
  const append = createAppendPosts({
    database: { ...h.deps.database, run: async (work) => work(admin as unknown as Sql) },
    retentionSeconds: 3_600,
    onCommitted: () => {},
  })
  const late = { id: newId(), digest: '00', sender: 'olga', boardId: board, subscribers: ['rita'], threadId: null }
  const rest = { envelope: `{"id":"${late.id}"}`, expiryCap: null, operation: 'x', deadlineMs: Date.now() + 60_000 }
  expect(await append({ ...late, ...rest })).toEqual({ outcome: 'accepted' })
  // Accepted after the unfinished message, and committed before it.
  const early = await h.send({ from: 'olga', to: 'dave' })
  const page = await h.exported('olga')
  expect(page).toMatchObject({ ids: [], next: expect.stringMatching(/./) })
  await admin`commit`
  expect((await h.exported('olga', { after: page.next })).ids).toEqual([late.id, early.id])
})
