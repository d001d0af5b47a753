import { messageOperation } from '@svc/contracts/message-operation.ts'
import type { MessageList } from '@svc/contracts/resources.ts'
import type { Database, Sql } from '@svc/postgres/database.ts'
import { describe, expect, test } from 'vitest'
import { exportMessages } from '../../src/handlers/read/export-messages.ts'
import { createAppend } from '../../src/store/send/append.ts'
import { contextNow, type Harness, newId, startHarness } from '../support/harness.ts'

/** Exports everything, page by page. */
async function exportAll(h: Harness, agent: string, threadId: string | null, limit: number): Promise<string[]> {
  const ids: string[] = []
  let after: string | null = null
  do {
    const page: Awaited<ReturnType<Harness['exported']>> = await h.exported(agent, {
      thread_id: threadId,
      after,
      limit,
    })
    expect(page.ids.length).toBe(page.next === '' ? page.ids.length : limit)
    ids.push(...page.ids)
    after = page.next
  } while (after !== '')
  return ids
}

describe('spec 7.9, 7.12, 7.15: GET /v2/export: sent and received messages by acceptance', () => {
  test('every agent, thread and page size gives the same as a filter over all messages', async () => {
    await using h = await startHarness()
    for (const agent of ['alice', 'bob', 'carol']) await h.setPolicy(agent, 'open', 1)
    const all: { id: string; from: string; to: string; threadId: string | null; expired: boolean }[] = []
    const add = async (from: string, to: string, threadId?: string) => {
      const { id } = await h.send({ from, to, ...(threadId === undefined ? {} : { threadId }) })
      all.push({ id, from, to, threadId: threadId ?? null, expired: false })
      return id
    }
    const roots = [await add('alice', 'bob'), await add('carol', 'bob'), await add('alice', 'alice')]
    for (let round = 0; round < 6; round += 1) {
      await add('bob', 'alice', roots[0])
      await add('alice', 'bob', roots[0])
      await add('bob', 'carol', roots[1])
      await add('alice', 'alice', roots[2])
      await add('carol', 'alice')
      await add('bob', 'bob')
    }
    const expired = all.filter((_, index) => index % 7 === 3)
    await h.expire(...expired.map(({ id }) => id))
    for (const message of expired) message.expired = true

    const threads = [null, ...roots, all.find(({ threadId }) => threadId !== null)?.id ?? '', newId(), 'x', '\0']
    let listed = 0
    for (const agent of ['alice', 'bob', 'carol', 'dave']) {
      for (const thread of threads) {
        const expected = all
          .filter((message) => !message.expired && (message.from === agent || message.to === agent))
          .filter(({ id, threadId }) => thread === null || threadId === thread || (id === thread && threadId === null))
          .map(({ id }) => id)
        listed += expected.length
        for (const limit of [1, 3, 100]) {
          const found = await exportAll(h, agent, thread, limit)
          expect({ agent, thread, limit, found }).toEqual({ agent, thread, limit, found: expected })
        }
      }
    }
    expect(listed).toBeGreaterThan(60)
  })

  test.each(['accepted', 'blocked', 'none'] as const)(
    'both participants export a DM, whatever their contact is now: %s',
    async (state) => {
      await using h = await startHarness()
      const { id } = await h.send({ from: 'alice', to: 'bob' })
      await h.setContact('bob', 'alice', state)
      expect((await h.exported('alice')).ids).toEqual([id])
      expect((await h.exported('bob')).ids).toEqual([id])
    },
  )
})

describe('spec 7.15; ADR 19: no message appears before a cursor that was handed out', () => {
  test('a page ends before an unfinished transaction, and the next page continues in order', async () => {
    await using h = await startHarness()
    const before = await h.send({ from: 'alice', to: 'bob' })
    const late = await beginAppend(h, 'alice', 'carol')
    // Accepted after the unfinished message, and committed before it.
    const early = await h.send({ from: 'alice', to: 'dave' })

    const page = await h.exported('alice')
    expect(page.ids).toEqual([before.id])
    expect(page.next).not.toBe('')
    expect((await h.exported('alice', { after: page.next })).ids).toEqual([])
    await late.commit()
    const rest = await h.exported('alice', { after: page.next })
    expect(rest.ids).toEqual([late.id, early.id])
    expect(rest.next).toBe('')
  })

  test('if all messages are still unfinished, the page is empty and its cursor begins at the start', async () => {
    await using h = await startHarness()
    const late = await beginAppend(h, 'alice', 'carol')
    const early = await h.send({ from: 'alice', to: 'dave' })
    const page = await h.exported('alice')
    expect(page).toMatchObject({ ids: [], next: expect.stringMatching(/^[\w-]+$/) })
    await late.commit()
    expect((await h.exported('alice', { after: page.next })).ids).toEqual([late.id, early.id])
  })

  test('messages accepted before the call are in the answer: the call waits for earlier appends', async () => {
    await using h = await startHarness()
    const other = await beginAppend(h, 'mallory', 'carol')
    const { id } = await h.send({ from: 'alice', to: 'bob' })
    const found = await countQueries(h, 'bob', 10, async (query) => {
      if (query === 5) await other.commit()
    })
    expect(found).toMatchObject({ queries: 7, ids: [id], next: '' })
  })

  test('an unrelated long transaction delays nothing', async () => {
    await using h = await startHarness()
    const admin = h.openAdmin()
    await admin`begin`
    await admin`select pg_current_xact_id()`
    const ids = [(await h.send({ from: 'alice', to: 'bob' })).id, (await h.send({ from: 'bob', to: 'carol' })).id]
    expect(await countQueries(h, 'bob', 10)).toEqual({ queries: 3, ids, next: '' })
  })

  test('a call does not wait if it has nothing after the unfinished appends, or a full page before them', async () => {
    await using h = await startHarness()
    const { id } = await h.send({ from: 'alice', to: 'bob' })
    await beginAppend(h, 'mallory', 'carol')
    const alices = await countQueries(h, 'alice', 10)
    expect(alices).toMatchObject({ ids: [id], next: '' })
    // Now bob has a later message: a page waits for it, unless the page ends before it.
    await h.send({ from: 'bob', to: 'dave' })
    const full = await countQueries(h, 'bob', 1)
    expect(full).toMatchObject({ ids: [id], next: expect.stringMatching(/./) })
    // Three queries if another test has an open transaction.
    for (const { queries } of [alices, full]) expect([1, 3]).toContain(queries)
    const waiting = await countQueries(h, 'bob', 10)
    expect(waiting).toMatchObject({ ids: [id], next: expect.stringMatching(/./) })
    expect(waiting.queries).toBeGreaterThan(10)
  })

  test('readers that page while 4 agents write to each other miss nothing and see one order', async () => {
    await using h = await startHarness()
    const agents = ['alice', 'bob', 'carol', 'dave']
    for (const agent of agents) await h.setPolicy(agent, 'open', 1)
    const processes = [h, h.startProcess()]
    let isDone = false
    const readers = Promise.all(agents.map((agent) => follow(agent)))
    const writers = Array.from({ length: 12 }, async (_, writer) => {
      for (let count = 0; count < 25; count += 1) {
        const [from = '', to = ''] = [agents[writer % 4], agents[(writer + count) % 4]]
        await processes[writer % 2]?.send({ from, to })
      }
    })
    await Promise.all(writers)
    isDone = true
    const seen = await readers
    for (const [index, agent] of agents.entries()) expect(seen[index]).toEqual(await exportAll(h, agent, null, 100))

    /** Follows the export. At the end the cursor is empty, so this goes on from the last cursor that was not. */
    async function follow(agent: string): Promise<string[]> {
      const ids = new Set<string>()
      let after: string | null = null
      for (let isLast = false; ; ) {
        const page: Awaited<ReturnType<Harness['exported']>> = await h.exported(agent, { after, limit: 7 })
        for (const id of page.ids) ids.add(id)
        if (page.next !== '') after = page.next
        else if (isLast) return [...ids]
        else isLast = isDone
      }
    }
  })
})

/** Exports, counting the queries. @param onQuery is awaited after each. */
async function countQueries(
  h: Harness,
  agent: string,
  limit: number,
  onQuery: (query: number) => Promise<void> = async () => {},
): Promise<{ queries: number; ids: string[]; next: string }> {
  let queries = 0
  const database: Database = {
    ...h.deps.database,
    async run(work) {
      const found = await h.deps.database.run(work)
      queries += 1
      await onQuery(queries)
      return found
    },
  }
  const request = { agent_id: agent, thread_id: null, after: null, limit }
  const { text } = await exportMessages({ ...h.deps, database }, request, contextNow())
  const { messages, next_cursor } = JSON.parse(text) as MessageList
  return { queries, ids: messages.map((message) => message.envelope.id), next: next_cursor }
}

/** An append from `from` to `to` whose transaction is still open. */
async function beginAppend(h: Harness, from: string, to: string): Promise<{ id: string; commit: () => Promise<void> }> {
  const admin = h.openAdmin()
  await admin`begin`
  const append = createAppend({
    database: { ...h.deps.database, run: async (work) => work(admin as unknown as Sql) },
    retentionSeconds: 3_600,
    onCommitted: () => {},
  })
  const id = newId()
  const accepted = await append({
    id,
    digest: '00',
    sender: from,
    recipient: to,
    lane: 'inbox',
    threadId: null,
    envelope: `{"id":"${id}"}`,
    expiryCap: null,
    policy: 'requests' as const,
    contact: 'none' as const,
    standingVersion: 0,
    operation: messageOperation(id, '00'),
    deadlineMs: Date.now() + 60_000,
  })
  expect(accepted.outcome).toBe('accepted')
  return {
    id,
    async commit() {
      await admin`commit`
    },
  }
}
