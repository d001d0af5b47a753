import { describe, expect, test } from 'vitest'
import { MAX_EXAMINED } from '../../src/store/read/events.ts'
import { type Harness, newId, startHarness } from '../support/harness.ts'

const cursorsOf = (page: Awaited<ReturnType<Harness['events']>>) => page.events.map((event) => event.cursor)

/** Six messages to bob, at the cursors 1 to 6: requests of strangers at the odd ones. */
async function fill(h: Harness): Promise<string[]> {
  await h.setContact('bob', 'alice', 'accepted')
  const ids: string[] = []
  for (let index = 1; index <= 6; index += 1) {
    ids.push((await h.send({ from: index % 2 === 1 ? `stranger-${index}` : 'alice', to: 'bob' })).id)
  }
  return ids
}

describe('spec 9.3, 9.4: events', () => {
  test('the kinds are merged in the order of their cursors, which begin at 1', async () => {
    await using h = await startHarness({ retentionDays: 7 })
    const ids = await fill(h)
    expect(await h.events('bob')).toEqual({
      events: ids.map((id, index) => {
        const kind = index % 2 === 0 ? 'requests' : 'inbox'
        return { cursor: index + 1, kind, lane: kind, id }
      }),
      next: 6,
      earliest: 1,
      latest: 6,
      retentionDays: 7,
    })
  })

  test.each([1, 2, 3, 4, 5, 6, 100])('pages of %d give every event once', async (limit) => {
    await using h = await startHarness()
    await fill(h)
    const cursors: number[] = []
    for (let after = 0; ; ) {
      const page = await h.events('bob', after, limit)
      cursors.push(...cursorsOf(page))
      if (page.events.length === 0) break
      expect(page.next).toBe(page.events.at(-1)?.cursor)
      after = page.next
    }
    expect(cursors).toEqual([1, 2, 3, 4, 5, 6])
  })

  test('`limit` counts the events returned: expired ones are skipped, not counted', async () => {
    await using h = await startHarness()
    const ids = await fill(h)
    await h.expire(ids[1] ?? '', ids[2] ?? '')
    const page = await h.events('bob', 0, 3)
    expect(cursorsOf(page)).toEqual([1, 4, 5])
    expect(page.next).toBe(5)
  })

  test.each([
    ['skipped events at the end', [5, 6], 3, [4], 6],
    ['skipped events after the last one returned', [5, 6], 2, [3, 4], 6],
    ['more events after a full page', [1, 4], 0, [2, 3], 3],
    ['only skipped events', [1, 2, 3, 4, 5, 6], 0, [], 6],
    ['nothing', [], 6, [], 6],
    ['a cursor beyond the end', [], 9, [], 9],
  ])('spec 9.4: next_cursor is the last examined, or after: %s', async (_name, expired, after, expected, next) => {
    await using h = await startHarness()
    const ids = await fill(h)
    await h.expire(...expired.map((cursor) => ids[cursor - 1] ?? ''))
    const page = await h.events('bob', after, 2)
    expect({ cursors: cursorsOf(page), next: page.next }).toEqual({ cursors: expected, next })
  })

  test('spec 9.6: earliest is the oldest live event of any kind, else the next one to come', async () => {
    await using h = await startHarness()
    expect((await h.events('bob')).earliest).toBe(1)
    const ids = await fill(h)
    expect((await h.events('bob', 5)).earliest).toBe(1)
    await h.expire(ids[0] ?? '')
    expect((await h.events('bob')).earliest).toBe(2)
    await h.expire(...ids.slice(0, 5))
    expect((await h.events('bob')).earliest).toBe(6)
    await h.expire(...ids)
    expect((await h.events('bob')).earliest).toBe(7)
    await h.purge()
    expect((await h.events('bob')).earliest).toBe(7)
  })

  test('spec 9.6: latest is the last cursor ever appended, whether or not the page shows its event', async () => {
    await using h = await startHarness()
    expect((await h.events('bob')).latest).toBe(0)
    const ids = await fill(h)
    for (const [after, limit] of [
      [0, 1],
      [0, 100],
      [6, 1],
      [9, 1],
      [Number.MAX_SAFE_INTEGER, 1],
    ] as const) {
      expect(await h.events('bob', after, limit)).toMatchObject({ latest: 6 })
    }
    await h.expire(...ids)
    await h.purge()
    expect(await h.events('bob')).toMatchObject({ events: [], next: 6, earliest: 7, latest: 6 })
  })

  test('spec 9.6: latest belongs to the snapshot of the page: it is never below next_cursor, and no event up to it is missing', async () => {
    await using h = await startHarness()
    await h.setPolicy('bob', 'open', 1)
    let done = false
    const sending = (async () => {
      for (let n = 0; n < 60; n += 1) await h.send({ from: 'alice', to: 'bob' })
      done = true
    })()
    for (let reads = 0; !done || reads === 0; reads += 1) {
      const page = await h.events('bob', 0, 100)
      expect([page.latest, cursorsOf(page).at(-1) ?? 0]).toEqual([page.next, page.next])
    }
    await sending
  })

  test('an answer is the same before and after the purge', async () => {
    await using h = await startHarness()
    const ids = await fill(h)
    for (const cursors of [[3], [1, 2], [6], [4, 5]]) {
      await h.expire(...cursors.map((cursor) => ids[cursor - 1] ?? ''))
      const pages = () => Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map((after) => h.events('bob', after, 2)))
      const before = await pages()
      await h.purge()
      expect(await pages()).toEqual(before)
    }
  })

  test('an agent that never received anything has no events', async () => {
    await using h = await startHarness()
    expect(await h.events('bob')).toEqual({ events: [], next: 0, earliest: 1, latest: 0, retentionDays: 30 })
    expect(await h.events('bob', 5)).toEqual({ events: [], next: 5, earliest: 1, latest: 0, retentionDays: 30 })
  })

  test('a call examines a bounded number of cursors, and the next call continues after them', async () => {
    await using h = await startHarness()
    const expired = MAX_EXAMINED + 50
    await insertExpired(h, 'bob', expired)
    await h.setContact('bob', 'alice', 'accepted')
    const { id } = await h.send({ from: 'alice', to: 'bob' })
    const first = await h.events('bob')
    expect(first).toMatchObject({ events: [], next: MAX_EXAMINED, earliest: expired + 1 })
    expect((await h.events('bob', first.next)).events).toEqual([
      { cursor: expired + 1, kind: 'inbox', lane: 'inbox', id },
    ])
    // Purged entries are no longer examined, whatever their number.
    await h.purge()
    expect((await h.events('bob')).events).toHaveLength(1)
  })
})

/** Writes thousands of old messages directly into the tables. */
async function insertExpired(h: Harness, log: string, count: number): Promise<void> {
  const prefix = newId()
  await h.deps.database.run(
    (sql) => sql`
      with made as (
        insert into messaging.messages
          (place, id, digest, sender, recipient, lane, position, envelope, accepted_at, expires_at, batch, ordinal)
        select messaging.new_place(2, 2592000), ${prefix} || n, '', 'mallory', ${log}, 'inbox', n, '{}', 1, 2, pg_current_xact_id()::text::bigint, n
        from generate_series(1, ${count}::bigint) n returning place, position
      ), entered as (
        insert into messaging.entries (log, kind, position, message, expires_at)
        select ${log}, 'inbox', position, place, 2 from made
      )
      insert into messaging.logs (id, head) values (${log}, ${count})`,
  )
}
