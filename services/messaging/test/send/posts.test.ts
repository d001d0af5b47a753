import { describe, expect, test } from 'vitest'
import { type Harness, newId, startHarness } from '../support/harness.ts'
import { outcomeOf } from '../support/outcome.ts'

const RETENTION_SECONDS = 30 * 86_400

/** A board of olga, with wes as writer and rita as reader. */
function membersBoard(h: Harness, settings: Parameters<Harness['boards']['create']>[1] = {}): string {
  const board = h.boards.create('olga', settings)
  h.boards.setRole(board, 'wes', 'writer')
  h.boards.setRole(board, 'rita', 'reader')
  h.boards.setRole(board, 'bart', 'banned')
  return board
}

describe('spec 7.1, 7.3, 8.8, 9.2: a post', () => {
  test('is accepted into the lane `board`, and is an event for owner, writers and readers, but not for its author or banned agents', async () => {
    await using h = await startHarness()
    const board = membersBoard(h)
    const post = await h.send({ from: 'wes', to: board })
    expect(post).toMatchObject({ status: 'accepted', lane: 'board', duplicate: false, sender_authenticated: true })
    for (const agent of ['olga', 'rita']) {
      expect((await h.events(agent)).events).toEqual([{ cursor: 1, kind: 'board', lane: 'board', id: post.id }])
    }
    for (const agent of ['wes', 'bart', 'eve']) expect((await h.events(agent)).events).toEqual([])
    expect((await h.feed('rita', board)).ids).toEqual([post.id])
    expect((await h.inbox('rita')).ids).toEqual([])
    expect((await h.inbox('rita', { lane: 'requests' })).ids).toEqual([])
  })

  test('spec 6.8: without a ttl it expires with the retention period', async () => {
    await using h = await startHarness()
    const { id } = await h.send({ from: 'wes', to: membersBoard(h) })
    const { created_at, expires_at } = await h.read(null, id)
    expect(expires_at - created_at).toBe(RETENTION_SECONDS)
  })

  test('spec 12.3: 32 KiB to 100 subscribers is one transaction and one stored body, with an entry in each log', async () => {
    await using h = await startHarness()
    const board = h.boards.create('olga')
    const subscribers = Array.from({ length: 100 }, (_, index) => `reader-${index}`)
    for (const agent of subscribers) h.boards.setRole(board, agent, 'reader')
    const { id } = await h.send({ from: 'olga', to: board, body: 'x'.repeat(32 * 1024 - 2) })

    const admin = h.openAdmin()
    const entries =
      await admin`select log, kind, position::int, xmin from messaging.entries where message = messaging.place_of(${id})`
    expect(entries.map(({ log }) => log).sort()).toEqual([board, ...subscribers].sort())
    expect(new Set(entries.map(({ kind, position }) => `${kind} ${position}`))).toEqual(new Set(['board 1']))
    const bodies = await admin`select xmin from messaging.messages where octet_length(envelope) > 32 * 1024`
    expect(bodies).toHaveLength(1)
    expect(new Set([...entries, ...bodies].map(({ xmin }) => xmin)).size).toBe(1)
  })
})

describe('spec 6.5, 8.8, 11.2: a post costs ceil(bytes / 1024) × subscribed recipients', () => {
  test('100 recipients, 32 KiB: 3,200 units in one charge, and no introduction', async () => {
    await using h = await startHarness()
    const board = h.boards.create('olga')
    for (let index = 0; index < 100; index += 1) h.boards.setRole(board, `reader-${index}`, 'reader')
    const { id } = await h.send({ from: 'olga', to: board, body: 'x'.repeat(32 * 1024 - 2) })
    const cost = { agentId: 'olga', units: 3_200, introductionPeer: null }
    expect(h.charged).toMatchObject([{ cost, outcome: 'settled' }])
    expect(h.charged[0]?.cost.operation).toMatch(new RegExp(`^messaging:message:${id}:[0-9a-f]{64}$`))
  })

  test('a post that cannot be paid for leaves nothing behind', async () => {
    await using h = await startHarness()
    const board = membersBoard(h)
    h.budget.isDown = true
    expect(await outcomeOf(h.send({ from: 'wes', to: board }))).toBe('unavailable')
    expect((await h.feed(null, board)).ids).toEqual([])
    expect((await h.events('rita')).next).toBe(0)
  })
})

describe('spec 7.4: an identical retry of a post', () => {
  test('is a free duplicate, whatever happened to author, board and post; another envelope is a conflict', async () => {
    await using h = await startHarness()
    const board = membersBoard(h, { visibility: 'private' })
    const post = { from: 'wes', to: board, id: newId() }
    await h.send(post)
    const isDuplicate = async () => {
      expect(await h.send(post)).toMatchObject({ duplicate: true, lane: 'board' })
      expect(await outcomeOf(h.send({ ...post, body: 'else' }))).toBe('id_conflict')
      expect(await outcomeOf(h.send({ ...post, from: 'olga' }))).toBe('id_conflict')
      expect(await outcomeOf(h.send({ ...post, to: 'bob' }))).toBe('id_conflict')
    }
    await isDuplicate()
    await h.setHidden('olga', board, post.id, true)
    h.boards.setRole(board, 'wes', 'banned')
    await isDuplicate()
    h.boards.isDown = true
    h.budget.isDown = true
    await isDuplicate()
    expect(h.charged).toHaveLength(1)
  })
})

describe('spec 6.9: references of a post', () => {
  test('to live posts of the same board that are not hidden, by any author; thread_id to a root', async () => {
    await using h = await startHarness()
    const [board, other] = [membersBoard(h), membersBoard(h)]
    await h.setPolicy('wes', 'open', 1)
    const root = await h.send({ from: 'olga', to: board })
    const member = await h.send({ from: 'wes', to: board, threadId: root.id })
    const elsewhere = await h.send({ from: 'wes', to: other })
    const hidden = await h.send({ from: 'wes', to: board })
    const gone = await h.send({ from: 'wes', to: board })
    const dm = await h.send({ from: 'olga', to: 'wes' })
    await h.setHidden('olga', board, hidden.id, true)
    await h.expire(gone.id)

    const rows: [name: string, id: string, reply: string, thread: string][] = [
      ['root', root.id, 'ok', 'ok'],
      ['member', member.id, 'ok', 'invalid_reference'],
      ['of another board', elsewhere.id, 'invalid_reference', 'invalid_reference'],
      ['hidden', hidden.id, 'invalid_reference', 'invalid_reference'],
      ['expired', gone.id, 'invalid_reference', 'invalid_reference'],
      ['a DM', dm.id, 'invalid_reference', 'invalid_reference'],
      ['nothing', newId(), 'invalid_reference', 'invalid_reference'],
    ]
    for (const from of ['wes', 'olga']) {
      for (const [name, id, reply, thread] of rows) {
        const found = [
          await outcomeOf(h.send({ from, to: board, replyTo: id })),
          await outcomeOf(h.send({ from, to: board, threadId: id })),
        ]
        expect({ from, name, found }).toEqual({ from, name, found: [reply, thread] })
      }
    }
    // A DM cannot refer to a post either.
    expect(await outcomeOf(h.send({ from: 'olga', to: 'wes', replyTo: root.id }))).toBe('invalid_reference')
  })
})
