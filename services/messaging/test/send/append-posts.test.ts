import { randomBytes } from 'node:crypto'
import { messageOperation } from '@svc/contracts/message-operation.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { describe, expect, test } from 'vitest'
import type { CommittedPost } from '../../src/domain/accepted-events.ts'
import { createAppend } from '../../src/store/send/append.ts'
import { createAppendPosts, type PostAppend } from '../../src/store/send/append-posts.ts'
import { RETENTION_SECONDS, startStore } from '../support/store.ts'

async function startHarness() {
  const store = await startStore()
  const { database, open } = store
  const committed: CommittedPost[] = []
  const options = { retentionSeconds: RETENTION_SECONDS }
  const appendOn = (on: typeof database) =>
    createAppendPosts({ ...options, database: on, onCommitted: (posts) => committed.push(...posts) })
  return {
    ...store,
    committed,
    append: appendOn(database),
    appendElsewhere: appendOn(open()),
    appendMessage: createAppend({ ...options, database: open(), onCommitted: () => {} }),
    /** The entries of a log, by position. */
    entriesOf: (log: string) =>
      database.run(
        (sql) => sql<{ position: number; message: string; kind: string; thread_id: string | null }[]>`
          select e.position, m.id as message, e.kind, e.thread_id
          from messaging.entries e join messaging.messages m on m.place = e.message
          where e.log = ${log} order by e.position`,
      ),
  }
}

function post(changes: Partial<PostAppend> = {}): PostAppend {
  const id = changes.id ?? randomBytes(12).toString('base64url')
  const digest = changes.digest ?? randomBytes(32).toString('hex')
  return {
    id,
    digest,
    sender: 'alice',
    boardId: 'board-1',
    subscribers: ['bob', 'carol'],
    threadId: null,
    envelope: `{"id":"${id}"}`,
    expiryCap: null,
    operation: messageOperation(id, digest),
    deadlineMs: Date.now() + 60_000,
    ...changes,
  }
}

const range = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

describe('ADR 19: an append of posts', () => {
  test('spec 9.3: posts and messages at once, to overlapping subscribers, over two processes: no deadlock, contiguous positions', async () => {
    await using h = await startHarness()
    const agents = Array.from({ length: 12 }, (_, index) => `agent-${index}`)
    const posters = Array.from({ length: 16 }, async (_, poster) => {
      for (let count = 0; count < 8; count += 1) {
        const append = (poster + count) % 2 === 0 ? h.append : h.appendElsewhere
        // Every author names the subscribers in another order.
        const subscribers = agents.map((_agent, index) => agents[(index * 5 + poster) % 12] ?? '')
        expect(await append(post({ boardId: `board-${poster % 3}`, subscribers }))).toEqual({ outcome: 'accepted' })
      }
    })
    const senders = agents.map(async (recipient, index) => {
      for (let count = 0; count < 10; count += 1) {
        const { subscribers: _, boardId: __, ...rest } = post()
        const message = {
          ...rest,
          sender: `sender-${index}`,
          recipient,
          lane: 'inbox' as const,
          policy: 'requests' as const,
          contact: 'none' as const,
          standingVersion: 0,
        }
        expect((await h.appendMessage(message)).outcome).toBe('accepted')
      }
    })
    await Promise.all([...posters, ...senders])
    for (const agent of agents) {
      const entries = await h.entriesOf(agent)
      expect(entries.map(({ position }) => position)).toEqual(range(16 * 8 + 10))
    }
    const boards = await Promise.all(range(3).map((n) => h.entriesOf(`board-${n - 1}`)))
    for (const entries of boards) {
      expect(entries.map(({ position }) => position)).toEqual(range(entries.length))
      // Subscribers get the posts of one board in the order of its feed.
      const order = new Map(entries.map(({ message, position }) => [message, position]))
      const met = (await h.entriesOf('agent-0')).flatMap(({ message }) => order.get(message) ?? [])
      expect(met).toEqual(range(entries.length))
    }
    expect(boards.flat()).toHaveLength(16 * 8)
    await eventually(() => h.committed.length === 16 * 8)
    expect(h.committed.every(({ entries }) => entries.length === 12)).toBe(true)
  })

  test('concurrent appends of the same ids, posts or messages, never deadlock', async () => {
    await using h = await startHarness()
    for (let round = 0; round < 60; round += 1) {
      const ids = Array.from({ length: 8 }, (_, at) => `${round}-${at}`)
      const { subscribers: _, boardId: __, ...rest } = post()
      const message = { ...rest, recipient: 'dave', lane: 'inbox' as const, policy: 'requests' as const }
      const judged = { contact: 'none' as const, standingVersion: 0 }
      const outcomes = await Promise.all([
        ...ids.map((id) => h.append(post({ id, boardId: 'one', subscribers: ['bob'] }))),
        ...ids.toReversed().map((id) => h.appendElsewhere(post({ id, boardId: 'other', subscribers: ['carol'] }))),
        ...ids.toReversed().map((id) => h.appendMessage({ ...message, ...judged, id })),
      ])
      expect(outcomes.filter(({ outcome }) => outcome === 'accepted')).toHaveLength(ids.length)
    }
    expect(h.errors).not.toContain('40P01')
  })

  test('the events handed over for publication have the committed positions', async () => {
    await using h = await startHarness()
    const posts = [post(), post({ subscribers: [] }), post({ boardId: 'board-2', subscribers: ['carol', 'dave'] })]
    await Promise.all(posts.map(h.append))
    await eventually(() => h.committed.length === 2)
    for (const { id, boardId, entries } of h.committed) {
      const sent = posts.find((one) => one.id === id)
      expect({ boardId, logs: entries.map(({ log }) => log).sort() }).toEqual({
        boardId: sent?.boardId,
        logs: sent?.subscribers,
      })
      for (const { log, position } of entries) {
        expect((await h.entriesOf(log)).find((entry) => entry.position === position)?.message).toBe(id)
      }
    }
  })

  test('only the log of the board knows the thread, because subscribers list no threads', async () => {
    await using h = await startHarness()
    await h.append(post({ threadId: 'some-root' }))
    expect(await h.entriesOf('board-1')).toMatchObject([{ kind: 'board', thread_id: 'some-root' }])
    expect(await h.entriesOf('bob')).toMatchObject([{ kind: 'board', thread_id: null }])
  })

  test('spec 7.4: two processes append the same id at once: one succeeds, and the other gets a duplicate or a conflict', async () => {
    await using h = await startHarness()
    for (let round = 0; round < 15; round += 1) {
      const same = post()
      const twice = await Promise.all([h.append(same), h.appendElsewhere(same)])
      expect(twice.map(({ outcome }) => outcome).sort()).toEqual(['accepted', 'duplicate'])
      const other = post()
      const contest = await Promise.all([
        h.append(other),
        h.appendElsewhere(post({ id: other.id, sender: 'mallory', boardId: 'board-2', subscribers: ['eve'] })),
      ])
      expect(contest.map(({ outcome }) => outcome).sort()).toEqual(['accepted', 'conflict'])
    }
  })

  test('spec 7.4: an id is taken by messages and posts alike', async () => {
    await using h = await startHarness()
    const { subscribers: _, boardId: __, ...rest } = post()
    await h.appendMessage({
      ...rest,
      recipient: 'bob',
      lane: 'inbox',
      policy: 'requests' as const,
      contact: 'none' as const,
      standingVersion: 0,
    })
    expect(await h.append(post({ id: rest.id }))).toEqual({ outcome: 'conflict' })
  })
})

test('a subscriber whose log is locked by another transaction delays no post to others', async () => {
  await using h = await startHarness()
  const [held, other] = [
    { boardId: 'held', subscribers: ['bob'] },
    { boardId: 'other', subscribers: ['carol'] },
  ]
  await Promise.all([h.append(post(held)), h.append(post(other))])
  let waiting: Promise<unknown>[] = []
  await h.database.transaction(async (tx) => {
    await tx`select from messaging.logs where id = 'bob' for update`
    waiting = [h.append(post(held)), h.append(post({ ...other, subscribers: ['bob', 'carol'] }))]
    const posts = [h.append(post(other)), h.append(post({ boardId: 'new', subscribers: ['dave'] }))]
    expect(await Promise.all(posts)).toEqual([{ outcome: 'accepted' }, { outcome: 'accepted' }])
  })
  expect(await Promise.all(waiting)).toEqual([{ outcome: 'accepted' }, { outcome: 'accepted' }])
  expect((await h.entriesOf('bob')).map(({ position }) => position)).toEqual([1, 2, 3])
})

describe('ADR 21: fences of posts', () => {
  test('a refusal by the fence is final for the attempt, but not for a later reservation; past its deadline nothing is appended', async () => {
    await using h = await startHarness()
    const given = post()
    expect(await h.fences.fence([given])).toEqual([false])
    expect(await h.append(given)).toEqual({ outcome: 'fenced' })
    expect(await h.append(post({ deadlineMs: Date.now() - 60_000 }))).toEqual({ outcome: 'fenced' })
    expect(await h.entriesOf('bob')).toEqual([])
    expect(await h.append({ ...given, deadlineMs: given.deadlineMs + 1 })).toEqual({ outcome: 'accepted' })
    expect(await h.fences.fence([given])).toEqual([true])
  })

  test('of a concurrent fence and append, exactly one wins', async () => {
    await using h = await startHarness()
    for (let round = 0; round < 40; round += 1) {
      const contested = post()
      const [appended, fenced] = await Promise.all([h.appendElsewhere(contested), h.untilFenced(contested)])
      expect([appended.outcome, fenced]).toEqual(
        appended.outcome === 'accepted' ? ['accepted', true] : ['fenced', false],
      )
    }
  })
})
