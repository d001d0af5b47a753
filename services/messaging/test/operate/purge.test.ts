import { eventually } from '@svc/test/support/eventually.ts'
import { describe, expect, test } from 'vitest'
import { purgeBatch } from '../../src/loops/purge.ts'
import { type Harness, newId, startHarness } from '../support/harness.ts'
import { outcomeOf } from '../support/outcome.ts'

/** The retention of the harness. */
const RETENTION = 30 * 86_400

/** The number of rows of these messages in each table. */
async function countRows(h: Harness, ids: string[]) {
  const rows = await h.deps.database.run(
    (sql) => sql<{ messages: number; entries: number; pending: number; ids: number }[]>`
      with places as materialized (
        select messaging.place_of(u.id) as place from unnest(${ids}::text[]) u (id)
      )
      select
        (select count(*) from messaging.messages where place in (select place from places)) as messages,
        (select count(*) from messaging.entries where message in (select place from places)) as entries,
        (select count(*) from messaging.pending where message in (select place from places)) as pending,
        (select count(place) from places) as ids`,
  )
  return rows[0]
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
    await h.purge()
    expect(await countRows(h, expired)).toEqual({ messages: 0, entries: 0, pending: 0, ids: 3 })
    expect(await countRows(h, live)).toEqual({ messages: 2, entries: 2, pending: 1, ids: 2 })
  })

  test('spec 7.4: the id stays taken: an identical retry is a duplicate with its last lane, and another envelope is a conflict', async () => {
    await using h = await startHarness()
    const request = { from: 'alice', to: 'bob', id: newId() }
    const other = { from: 'carol', to: 'bob', id: newId() }
    await h.send(request)
    await h.send(other)
    await h.setContact('bob', 'alice', 'accepted')
    await h.expire(request.id, other.id)
    await h.purge()
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
    await h.purge()
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
      for (let pass = 0; pass < 20; pass += 1) await purgeBatch(deps.database, RETENTION)
    })
    const retries = sent.map(async (message, index) => {
      expect(await processes[index % 3]?.send(message)).toMatchObject({ duplicate: true })
    })
    const writes = sent.slice(0, 50).map((message) => h.send({ ...message, id: newId() }))
    const [live] = await Promise.all([Promise.all(writes), ...purges, ...retries])
    await h.purge()
    const ids = sent.map(({ id }) => id)
    expect(await countRows(h, ids)).toEqual({ messages: 0, entries: 0, pending: 0, ids: 500 })
    expect(
      await countRows(
        h,
        live.map(({ id }) => id),
      ),
    ).toMatchObject({ messages: 50, entries: 50, ids: 50 })
  })

  test('concurrent with acknowledgements and promotions of messages that have just expired: no row is left', async () => {
    await using h = await startHarness()
    const other = h.startProcess()
    for (let round = 0; round < 10; round += 1) {
      const sender = `stranger-${round}`
      const { id } = await h.send({ from: sender, to: 'bob' })
      await h.expire(id)
      await Promise.all([
        outcomeOf(h.ack('bob', id)),
        h.setContact('bob', sender, 'accepted'),
        purgeBatch(other.deps.database, RETENTION),
      ])
      await h.purge()
      expect(await countRows(h, [id])).toEqual({ messages: 0, entries: 0, pending: 0, ids: 1 })
    }
  })

  test('ADR 29: a partition is emptied when its last row has expired, but never the partition of the current period', async () => {
    await using h = await startHarness()
    const [gone, live] = [await h.send({ from: 'alice', to: 'bob' }), await h.send({ from: 'carol', to: 'bob' })]
    await h.expire(gone.id, live.id)
    const admin = h.openAdmin()
    // This message has not expired, but is in a partition with an expired one.
    await admin`
      update messaging.messages set place = place + (6000::bigint << 23), expires_at = expires_at + 6000 where id = ${live.id}`
    await h.purge()
    const left = () => admin`select id from messaging.messages`
    expect(await left()).toHaveLength(2)
    // These messages have expired, but are in the partition of the current period.
    await admin`
      update messaging.messages m set expires_at = 1, place = (slot::bigint << 56) | (1 << 23) | (m.place & 8388607)
      from messaging.slot_of(extract(epoch from now())::bigint, 2592000) slot`
    await h.purge()
    expect(await left()).toHaveLength(2)
    await admin`update messaging.messages m set place = ((((m.place >> 56) + 1) % 8) << 56) | (m.place & ((1::bigint << 56) - 1))`
    await h.purge()
    expect(await left()).toHaveLength(0)
  })

  test('ADR 14: a partition that another transaction has locked is left for a later pass, and senders go on', async () => {
    await using h = await startHarness()
    const { id } = await h.send({ from: 'alice', to: 'bob' })
    await h.expire(id)
    const reader = await h.openAdmin().reserve()
    await reader`begin`
    await reader`select count(*) from messaging.messages`
    expect(await purgeBatch(h.deps.database, RETENTION)).toMatchObject({ partitions: 0 })
    expect(await countRows(h, [id])).toMatchObject({ messages: 1, entries: 1 })
    expect(await h.send({ from: 'carol', to: 'bob' })).toMatchObject({ duplicate: false })
    await reader`commit`
    reader.release()
    await h.purge()
    expect(await countRows(h, [id])).toMatchObject({ messages: 0, entries: 0 })
  })

  test('ADR 29: processes with different retentions write at the same time: no live row is purged, and every row is purged in the end', async () => {
    await using h = await startHarness({ retentionDays: 12 / 86_400 })
    const other = h.startProcess({ retentionDays: 6 / 86_400 })
    await h.setPolicy('bob', 'open', 1)
    const admin = h.openAdmin()
    const sent: { id: string; from: string }[] = []
    for (let round = 0; round < 40; round += 1) {
      const from = `sender-${round % 3}`
      const { id } = await (round % 2 === 0 ? h : other).send({ from, to: 'bob' })
      sent.push({ id, from })
      await purgeBatch(other.deps.database, 6)
      const places = await admin`
        select (messaging.place_of(u.id) >> 23) & 8589934591 > extract(epoch from clock_timestamp()) + 1 as live,
          exists (select from messaging.messages m where m.id = u.id) as stored
        from unnest(${sent.map((one) => one.id)}::text[]) u (id)`
      for (const place of places) expect(place.stored || !place.live).toBe(true)
    }
    await eventually(
      async () => {
        await Promise.all([12, 6].map((retentionSeconds) => purgeBatch(h.deps.database, retentionSeconds)))
        expect(
          (
            await countRows(
              h,
              sent.map(({ id: one }) => one),
            )
          )?.messages,
        ).toBe(0)
      },
      { timeoutMs: 60_000 },
    )
    expect(await h.send({ from: 'sender-0', to: 'bob', id: sent[0]?.id ?? '' })).toMatchObject({ duplicate: true })
  })

  test('senders on three processes while partitions are emptied all the time: nothing fails, and nothing live is lost', async () => {
    await using h = await startHarness({ retentionDays: 6 / 86_400 })
    const processes = [h, h.startProcess(), h.startProcess()]
    await eventually(() => h.setPolicy('bob', 'open', 1))
    const accepted: { id: string; atMs: number }[] = []
    let done = false
    const purges = processes.map(async ({ deps }) => {
      while (!done) await purgeBatch(deps.database, 6)
    })
    const senders = Array.from({ length: 6 }, async (_, index) => {
      const endMs = Date.now() + 10_000
      while (Date.now() < endMs) {
        const { id } = await (processes[index % 3] ?? h).send({ from: `sender-${index}`, to: 'bob' })
        accepted.push({ id, atMs: Date.now() })
      }
    })
    await Promise.all(senders)
    const now = Date.now()
    const listed = new Set((await allIds(h, 'bob')).map((id) => id))
    // Allow 1 s because `expires_at` has whole seconds, and 2 s for the listing itself.
    for (const { id, atMs } of accepted) if (atMs > now - 3_000) expect(listed).toContain(id)
    done = true
    await Promise.all(purges)
    const [row] = await h.openAdmin()`select count(emptied_at)::int as emptied from messaging.slots`
    expect(row?.emptied).toBeGreaterThan(0)
    expect(
      await countRows(
        h,
        accepted.map(({ id }) => id),
      ),
    ).toMatchObject({ ids: accepted.length })
  })
})

async function allIds(h: Harness, agent: string): Promise<string[]> {
  const ids: string[] = []
  for (let after: string | null = null; ; ) {
    const page: Awaited<ReturnType<Harness['inbox']>> = await h.inbox(agent, { after })
    ids.push(...page.ids)
    if (page.next === '') return ids
    after = page.next
  }
}

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
    await h.purge()
    expect(await countRows(h, [plain, hidden])).toEqual({ messages: 0, entries: 0, pending: 0, ids: 2 })
    expect(await countRows(h, [live])).toEqual({ messages: 1, entries: 3, pending: 0, ids: 1 })
    expect(await h.events('rita')).toMatchObject({ events: [{ cursor: 3, id: live }], next: 3, earliest: 3 })
    expect((await h.feed(null, board)).ids).toEqual([live])
  })

  test('a post that is restored when it has just expired leaves no entry behind', async () => {
    await using h = await startHarness()
    const other = h.startProcess()
    const board = h.boards.create('olga')
    for (let round = 0; round < 10; round += 1) {
      const { id } = await h.send({ from: 'olga', to: board })
      await h.vote('rita', id)
      await h.setHidden('olga', board, id, true)
      await h.expire(id)
      await Promise.all([
        outcomeOf(h.setHidden('olga', board, id, false)),
        outcomeOf(h.vote('rita', id, false)),
        purgeBatch(other.deps.database, RETENTION),
      ])
      await h.purge()
      expect(await countRows(h, [id])).toEqual({ messages: 0, entries: 0, pending: 0, ids: 1 })
    }
    expect(await h.openAdmin()`select from messaging.votes`).toHaveLength(0)
  })
})
