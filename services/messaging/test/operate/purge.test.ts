import { eventually } from '@svc/test/support/eventually.ts'
import { describe, expect, test } from 'vitest'
import { purgeOnce } from '../../src/loops/purge.ts'
import { type Harness, newId, startHarness } from '../support/harness.ts'
import { outcomeOf } from '../support/outcome.ts'

/** The number of rows of these messages in each table. */
async function countRows(h: Harness, ids: string[]) {
  const rows = await h.deps.database.run(
    (sql) => sql<{ messages: number; entries: number; pending: number; tombstones: number }[]>`
      select
        (select count(*) from messaging.messages where id = any (${ids}::text[])) as messages,
        (select count(*) from messaging.entries where message = any (${ids}::text[])) as entries,
        (select count(*) from messaging.pending where message = any (${ids}::text[])) as pending,
        (select count(*) from messaging.tombstones where id = any (${ids}::text[])) as tombstones`,
  )
  return rows[0]
}

async function purgeAll(h: Harness): Promise<void> {
  while (await purgeOnce(h.deps.database)) {}
}

describe('spec 6.8: expired messages are purged later', () => {
  test('with both entries of a promoted message and its pending request, but no live row', async () => {
    await using h = await startHarness()
    const promoted = await h.send({ from: 'alice', to: 'bob' })
    await h.setContact('bob', 'alice', 'accepted')
    const plain = await h.send({ from: 'alice', to: 'bob' })
    const request = await h.send({ from: 'carol', to: 'bob' })
    const live = [(await h.send({ from: 'alice', to: 'bob' })).id, (await h.send({ from: 'dave', to: 'bob' })).id]
    const expired = [promoted.id, plain.id, request.id]
    await h.expire(...expired)
    await purgeAll(h)
    expect(await countRows(h, expired)).toEqual({ messages: 0, entries: 0, pending: 0, tombstones: 3 })
    expect(await countRows(h, live)).toEqual({ messages: 2, entries: 2, pending: 1, tombstones: 0 })
  })

  test('spec 7.4: the id stays taken: an identical retry is a duplicate with its last lane, and another envelope is a conflict', async () => {
    await using h = await startHarness()
    const request = { from: 'alice', to: 'bob', id: newId() }
    const other = { from: 'carol', to: 'bob', id: newId() }
    await h.send(request)
    await h.send(other)
    await h.setContact('bob', 'alice', 'accepted')
    await h.expire(request.id, other.id)
    await purgeAll(h)
    expect(await h.send(request)).toMatchObject({ duplicate: true, lane: 'inbox' })
    expect(await h.send(other)).toMatchObject({ duplicate: true, lane: 'requests' })
    expect(await outcomeOf(h.send({ ...request, body: 'else' }))).toBe('id_conflict')
    expect(await outcomeOf(h.send({ ...request, from: 'mallory' }))).toBe('id_conflict')
    expect(await outcomeOf(h.read('bob', request.id))).toBe('not_found')
    expect(h.charged.filter(({ cost }) => cost.operation.includes(request.id))).toHaveLength(1)
  })

  test('spec 7.9, 9.3: cursors continue after the purge', async () => {
    await using h = await startHarness()
    await h.setPolicy('bob', 'open', 1)
    const ids = [(await h.send({ from: 'alice', to: 'bob' })).id, (await h.send({ from: 'alice', to: 'bob' })).id]
    const list = await h.inbox('bob', { limit: 1 })
    const exported = await h.exported('bob', { limit: 1 })
    await h.expire(...ids)
    await purgeAll(h)
    const { id } = await h.send({ from: 'alice', to: 'bob' })
    expect((await h.events('bob')).events).toEqual([{ cursor: 3, kind: 'inbox', lane: 'inbox', id }])
    expect((await h.inbox('bob', { after: list.next })).ids).toEqual([id])
    expect((await h.exported('bob', { after: exported.next })).ids).toEqual([id])
  })

  test('by three processes at once, while agents retry and write: each message once, and nothing fails', async () => {
    await using h = await startHarness()
    const processes = [h, h.startProcess(), h.startProcess()]
    const sent = await Promise.all(
      Array.from({ length: 500 }, async (_, index) => {
        const message = { from: `sender-${index % 9}`, to: `agent-${index % 7}`, id: newId() }
        // 500 requests wait for seven logs at once. On a busy machine some of them may get 503, and a client repeats
        // those.
        await eventually(() => h.setPolicy(message.to, 'open', 1))
        await eventually(() => h.send(message))
        return message
      }),
    )
    await h.expire(...sent.map(({ id }) => id))
    const purges = processes.map(async ({ deps }) => {
      while (await purgeOnce(deps.database)) {}
    })
    const retries = sent.map(async (message, index) => {
      expect(await processes[index % 3]?.send(message)).toMatchObject({ duplicate: true })
    })
    const writes = sent.slice(0, 50).map((message) => h.send({ ...message, id: newId() }))
    const [live] = await Promise.all([Promise.all(writes), ...purges, ...retries])
    await purgeAll(h)
    const ids = sent.map(({ id }) => id)
    expect(await countRows(h, ids)).toEqual({ messages: 0, entries: 0, pending: 0, tombstones: 500 })
    expect(
      await countRows(
        h,
        live.map(({ id }) => id),
      ),
    ).toMatchObject({ messages: 50, entries: 50, tombstones: 0 })
  })

  test('with concurrent acknowledgements and promotions of expiring messages: no row is left behind', async () => {
    await using h = await startHarness()
    const other = h.startProcess()
    for (let round = 0; round < 25; round += 1) {
      const sender = `stranger-${round}`
      const { id } = await h.send({ from: sender, to: 'bob' })
      await Promise.all([
        h.expire(id),
        outcomeOf(h.ack('bob', id)),
        h.setContact('bob', sender, 'accepted'),
        purgeOnce(other.deps.database),
      ])
      // If the promotion came first, it made an entry with the old expiry.
      await h.expire(id)
      await purgeAll(h)
      expect(await countRows(h, [id])).toEqual({ messages: 0, entries: 0, pending: 0, tombstones: 1 })
    }
  })
})

describe('spec 6.8: expired posts are purged later', () => {
  test('with the entries of the board and of every subscriber, hidden or not, but no live row', async () => {
    await using h = await startHarness()
    const board = h.boards.create('olga')
    for (const agent of ['rita', 'wes']) h.boards.setRole(board, agent, 'reader')
    const posts = []
    for (let count = 0; count < 3; count += 1) posts.push((await h.send({ from: 'olga', to: board })).id)
    const [plain = '', hidden = '', live = ''] = posts
    await h.setHidden('olga', board, hidden, true)
    await h.expire(plain, hidden)
    await purgeAll(h)
    expect(await countRows(h, [plain, hidden])).toEqual({ messages: 0, entries: 0, pending: 0, tombstones: 2 })
    expect(await countRows(h, [live])).toEqual({ messages: 1, entries: 3, pending: 0, tombstones: 0 })
    expect(await h.events('rita')).toMatchObject({ events: [{ cursor: 3, id: live }], next: 3, earliest: 3 })
    expect((await h.feed(null, board)).ids).toEqual([live])
  })

  test('a post that is restored while it is about to be purged leaves no entry behind', async () => {
    await using h = await startHarness()
    const other = h.startProcess()
    const board = h.boards.create('olga')
    for (let round = 0; round < 25; round += 1) {
      const { id } = await h.send({ from: 'olga', to: board })
      await h.setHidden('olga', board, id, true)
      await Promise.all([
        h.expire(id),
        outcomeOf(h.setHidden('olga', board, id, false)),
        outcomeOf(h.vote('rita', id)),
        purgeOnce(other.deps.database),
      ])
      await h.expire(id)
      await purgeAll(h)
      expect(await countRows(h, [id])).toEqual({ messages: 0, entries: 0, pending: 0, tombstones: 1 })
    }
    expect(await h.openAdmin()`select from messaging.votes`).toHaveLength(0)
  })
})

describe('ADR 20: rows are kept for a day after publication', () => {
  test('published rows are removed after a day, and others stay', async () => {
    await using h = await startHarness()
    for (let count = 0; count < 4; count += 1) await h.send({ from: `stranger-${count}`, to: 'bob' })
    await h.deps.database.run(
      (sql) => sql`
        update messaging.outbox set created_at = created_at - interval '9 days',
          published_at = case id when 1 then now() - interval '25 hours' when 2 then now() - interval '23 hours' end`,
    )
    await purgeAll(h)
    const rows = await h.deps.database.run((sql) => sql<{ id: number }[]>`select id from messaging.outbox order by id`)
    expect(rows.map((row) => row.id)).toEqual([2, 3, 4])
  })
})
