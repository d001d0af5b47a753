import { LIMITS } from '@svc/contracts/limits.ts'
import { describe, expect, test } from 'vitest'
import { type Harness, newId, startHarness } from '../support/harness.ts'

/** The properties of a received message that the reference filter uses. */
interface Received {
  id: string
  lane: 'inbox' | 'requests'
  position: number
  threadId: string | null
  acked: boolean
  expired: boolean
}

interface Filter {
  lane: 'inbox' | 'requests'
  unacked: boolean
  thread_id: string | null
}

/** One log with every kind of message that a list can contain. */
async function fill(h: Harness): Promise<Received[]> {
  const received: Received[] = []
  const add = async (from: string, threadId: string | null = null) => {
    const { id, lane } = await h.send({ from, to: 'bob', ...(threadId === null ? {} : { threadId }) })
    const message: Received = {
      id,
      lane: lane === 'inbox' ? 'inbox' : 'requests',
      position: received.length + 1,
      threadId,
      acked: false,
      expired: false,
    }
    received.push(message)
    return message
  }
  const firstRequest = await add('dave')
  await h.setContact('bob', 'alice', 'accepted')
  const roots = [await add('alice'), await add('alice')]
  // A root that bob sent: only its members are in bob's inbox.
  await h.setContact('alice', 'bob', 'accepted')
  const sent = await h.send({ from: 'bob', to: 'alice' })
  for (let round = 0; round < 12; round += 1) {
    await add('alice')
    await add('alice', roots[0]?.id)
    await add(`stranger-${round}`)
    await add('alice', round % 2 === 0 ? roots[1]?.id : sent.id)
  }
  for (const message of received.filter((_, index) => index % 3 === 1)) {
    await h.ack('bob', message.id)
    message.acked = true
  }
  // Promoted: a new position at the end, in the other lane (spec 7.7).
  await h.setContact('bob', 'dave', 'accepted')
  Object.assign(firstRequest, { lane: 'inbox', position: received.length + 1 })
  const expired = received.filter((_, index) => index % 11 === 5)
  await h.expire(...expired.map((message) => message.id))
  for (const message of expired) message.expired = true
  return received
}

function expectedIds(received: Received[], { lane, unacked, thread_id }: Filter): string[] {
  return received
    .filter((message) => !message.expired && message.lane === lane && !(unacked && message.acked))
    .filter(
      ({ id, threadId }) => thread_id === null || threadId === thread_id || (id === thread_id && threadId === null),
    )
    .sort((a, b) => a.position - b.position)
    .map((message) => message.id)
}

async function allPages(h: Harness, filter: Filter, limit: number): Promise<string[]> {
  const ids: string[] = []
  let after: string | null = null
  do {
    const page: Awaited<ReturnType<Harness['inbox']>> = await h.inbox('bob', { ...filter, limit, after })
    // A page that is not the last one is full, since these messages are small.
    expect(page.ids.length).toBe(page.next === '' ? page.ids.length : limit)
    ids.push(...page.ids)
    after = page.next
  } while (after !== '')
  return ids
}

describe('spec 7.9, 7.11, 7.12: lists of received messages', () => {
  test('every filter, thread and page size gives the same as a filter over all messages, in order of arrival', async () => {
    await using h = await startHarness()
    const received = await fill(h)
    const roots = received.filter((message) => received.some((other) => other.threadId === message.id))
    const sentRoot = received.find(({ threadId }) => threadId !== null && !received.some(({ id }) => id === threadId))
    const member = received.find((message) => message.threadId !== null && !message.expired)
    const threads = [null, ...roots.map(({ id }) => id), sentRoot?.threadId ?? '', member?.id ?? '', newId(), 'x', '\0']
    let listed = 0
    for (const lane of ['inbox', 'requests'] as const) {
      for (const unacked of [false, true]) {
        for (const thread_id of threads) {
          const expected = expectedIds(received, { lane, unacked, thread_id })
          listed += expected.length
          for (const limit of [1, 2, 7, 100]) {
            const found = await allPages(h, { lane, unacked, thread_id }, limit)
            expect({ lane, unacked, thread_id, limit, found }).toEqual({
              lane,
              unacked,
              thread_id,
              limit,
              found: expected,
            })
          }
        }
      }
    }
    expect(listed).toBeGreaterThan(100)
  })

  test('spec 7.12: the thread of another conversation, and the id of a member that is not a root, list nothing', async () => {
    await using h = await startHarness()
    await h.setPolicy('bob', 'open', 1)
    const root = await h.send({ from: 'alice', to: 'bob' })
    const member = await h.send({ from: 'alice', to: 'bob', threadId: root.id })
    for (const agent of ['alice', 'carol']) {
      expect((await h.inbox(agent, { thread_id: root.id })).ids).toEqual([])
      expect((await h.inbox(agent, { thread_id: member.id })).ids).toEqual([])
    }
    expect((await h.inbox('bob', { thread_id: root.id })).ids).toEqual([root.id, member.id])
    expect((await h.inbox('bob', { thread_id: member.id })).ids).toEqual([])
  })
})

describe('spec 7.9: a page holds 512 KiB', () => {
  /** Each has 16 KiB of payload, escaped so that the text of the envelope is six times as long. */
  async function fillLarge(h: Harness, count: number): Promise<string[]> {
    await h.setPolicy('bob', 'open', 1)
    const ids: string[] = []
    for (let index = 0; index < count; index += 1) {
      ids.push((await h.send({ from: 'alice', to: 'bob', body: '\u0001'.repeat(15 * 1024) })).id)
    }
    return ids
  }

  test('pages have fewer messages than the limit, never exceed the byte limit, and together hold all messages', async () => {
    await using h = await startHarness()
    const ids = await fillLarge(h, 14)
    const pages: string[][] = []
    for (let after: string | null = null; after !== ''; ) {
      const page: Awaited<ReturnType<Harness['inbox']>> = await h.inbox('bob', { after })
      expect(Buffer.byteLength(page.text)).toBeLessThanOrEqual(LIMITS.pageBytes + 100)
      pages.push(page.ids)
      after = page.next
    }
    expect(pages.map((page) => page.length)).toEqual([5, 5, 4])
    expect(pages.flat()).toEqual(ids)
  })

  test('the same for the export and the events', async () => {
    await using h = await startHarness()
    const ids = await fillLarge(h, 7)
    const page = await h.exported('alice')
    expect(page.ids).toEqual(ids.slice(0, 5))
    expect((await h.exported('alice', { after: page.next })).ids).toEqual(ids.slice(5))
    const events = await h.events('bob')
    expect(events.events.map((event) => event.id)).toEqual(ids.slice(0, 5))
    expect(events.next).toBe(5)
    expect((await h.events('bob', events.next)).events.map((event) => event.id)).toEqual(ids.slice(5))
  })
})
