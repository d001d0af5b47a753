import { eventually } from '@svc/test/support/eventually.ts'
import { describe, expect, test } from 'vitest'
import { type Harness, newId, startHarness } from '../support/harness.ts'
import { outcomeOf } from '../support/outcome.ts'

const VOTED = { status: 'voted', quota_bonus: 0 }
const REMOVED = { status: 'removed', quota_bonus: 0 }

async function startScene(h: Harness, settings: Parameters<Harness['boards']['create']>[1] = {}) {
  const board = h.boards.create('olga', settings)
  h.boards.setRole(board, 'wes', 'writer')
  h.boards.setRole(board, 'rita', 'reader')
  h.boards.setRole(board, 'bart', 'banned')
  const { id } = await h.send({ from: 'wes', to: board })
  h.charged.length = 0
  return { board, id, upvotes: async () => (await h.read('olga', id)).upvotes as number }
}

describe('spec 8.10: a vote', () => {
  test('spec 11.2: a vote after the previous one was taken back is new, and costs 1 unit', async () => {
    await using h = await startHarness()
    const { id, upvotes } = await startScene(h)
    for (const voted of [true, false, true]) await h.vote('rita', id, voted)
    expect(await upvotes()).toBe(1)
    expect(h.charged.map(({ cost, outcome }) => [cost.units, outcome])).toEqual([
      [1, 'settled'],
      [1, 'settled'],
    ])
    expect(new Set(h.charged.map(({ cost }) => cost.operation)).size).toBe(2)
  })

  test('exact under concurrency: 50 voters, five times each, over two processes', async () => {
    await using h = await startHarness()
    const { id, upvotes } = await startScene(h)
    const other = h.startProcess()
    const voters = Array.from({ length: 50 }, (_, index) => `voter-${index}`)
    const all = (voted: boolean, some: string[]) =>
      Promise.all(
        Array.from({ length: 5 }, (_, time) =>
          // 250 requests wait for one row at once. On a busy machine some of them may get 503, and a client repeats
          // those.
          some.map((voter) => eventually(() => (time % 2 === 0 ? h : other).vote(voter, id, voted))),
        ).flat(),
      )
    await all(true, voters)
    expect(await upvotes()).toBe(50)
    expect(h.charged.filter(({ outcome }) => outcome === 'settled')).toHaveLength(50)
    expect(h.charged.filter(({ outcome }) => outcome === 'held')).toHaveLength(0)
    await all(false, voters.slice(0, 20))
    expect(await upvotes()).toBe(30)
  })

  test('exact when the same voters cast and take back votes concurrently', async () => {
    await using h = await startHarness()
    const { id, upvotes } = await startScene(h)
    const other = h.startProcess()
    const admin = h.openAdmin()
    for (let round = 0; round < 5; round += 1) {
      await Promise.all(
        Array.from({ length: 60 }, (_, index) =>
          eventually(() => (index % 2 === 0 ? h : other).vote(`voter-${index % 6}`, id, index % 5 < 3)),
        ),
      )
      const [row] =
        await admin`select count(*)::int as count from messaging.votes where message = messaging.place_of(${id})`
      expect(await upvotes()).toBe(row?.count)
    }
  })

  test('spec 11.2: while budget is down, repeats and taking back work; a new vote is refused and not counted', async () => {
    await using h = await startHarness()
    const { id, upvotes } = await startScene(h)
    await h.vote('rita', id)
    h.budget.isDown = true
    expect(await h.vote('rita', id)).toEqual(VOTED)
    expect(await outcomeOf(h.vote('eve', id))).toBe('unavailable')
    expect(await upvotes()).toBe(1)
    expect(await h.vote('rita', id, false)).toEqual(REMOVED)
    expect(await upvotes()).toBe(0)
  })
})

describe('spec 8.10: who may vote', () => {
  test('404 for a DM, an unknown id and an expired post, and for a hidden post except to the owner of its board', async () => {
    await using h = await startHarness()
    const { board, id } = await startScene(h)
    await h.setPolicy('rita', 'open', 1)
    const dm = await h.send({ from: 'wes', to: 'rita' })
    const gone = await h.send({ from: 'wes', to: board })
    await h.expire(gone.id)
    await h.vote('rita', id)
    await h.setHidden('olga', board, id, true)
    for (const voted of [true, false]) {
      for (const target of [dm.id, gone.id, newId(), id]) {
        expect(await outcomeOf(h.vote('rita', target, voted))).toBe('not_found')
      }
      expect(await outcomeOf(h.vote('wes', id, voted))).toBe('not_found')
      expect(await outcomeOf(h.vote('olga', id, voted))).toBe('ok')
    }
    expect(await h.read('olga', id)).toMatchObject({ upvotes: 1 })
  })

  test('a vote for a post that is hidden before it commits is not counted and not charged', async () => {
    await using h = await startHarness()
    const { board, id } = await startScene(h)
    const process = h.startProcess({
      onCharge: async () => {
        await h.setHidden('olga', board, id, true)
      },
    })
    expect(await outcomeOf(process.vote('rita', id))).toBe('not_found')
    expect(await h.read('olga', id)).toMatchObject({ upvotes: 0 })
    expect(h.charged.map(({ outcome }) => outcome)).toEqual(['released'])
  })
})

test('all votes of an expired post are purged, and those of live posts stay', async () => {
  await using h = await startHarness()
  const { board, id, upvotes } = await startScene(h)
  const gone = await h.send({ from: 'wes', to: board })
  await h.vote('rita', id)
  const admin = h.openAdmin()
  await admin`
    insert into messaging.votes (message, voter)
    select messaging.place_of(${gone.id}), 'voter-' || n from generate_series(1, 450) n`
  await h.expire(gone.id)
  await h.purge()
  expect(await admin`select message = messaging.place_of(${id}) as live from messaging.votes`).toEqual([{ live: true }])
  expect(await upvotes()).toBe(1)
})
