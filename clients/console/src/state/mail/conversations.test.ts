import type { Envelope, Message } from '@svc/contracts/resources.ts'
import { expect, test } from 'vitest'
import type { Entry } from './archive.ts'
import { answeredBy, groupConversations, type Rules } from './conversations.ts'
import type { Pending } from './outbox.ts'

const ME = 'me@here'
const RULES: Rules = {
  isOwn: (from) => from === ME,
  // bob's key and address are one agent.
  nameOf: (who) => (who === 'ID-OF-BOB' ? 'bob' : (who.split('@')[0] ?? who)),
  isUnread: (cursor) => cursor > 10,
  isUnwanted: ({ message }) => message.envelope.from.startsWith('mallory'),
}

interface Given {
  readonly from?: string
  readonly to?: string
  readonly at: number
  readonly thread?: string
  readonly cursor?: number
  readonly lane?: Message['lane']
  readonly ts?: string
}

function entryOf(
  id: string,
  { from = 'bob@here', to = ME, at, thread, cursor, lane = 'inbox', ts = '' }: Given,
): Entry {
  const envelope = {
    id,
    from,
    to,
    ts,
    type: 'event',
    ...(thread === undefined ? {} : { thread_id: thread }),
  } as Envelope
  const message: Message = { envelope, lane, created_at: at, expires_at: 1e9, acked: false, upvotes: 0 }
  return { message, cursor, hasWaited: false }
}

function pendingOf(id: string, to: string, composedAtMs: number, thread?: string): Pending {
  const envelope = { id, from: ME, to, type: 'event', ...(thread === undefined ? {} : { thread_id: thread }) }
  return { envelope, body: 'text', composedAtMs, isSending: false } as unknown as Pending
}

const own = (at: number, to = 'bob@here', thread?: string): Given => ({
  from: ME,
  to,
  at,
  ...(thread === undefined ? {} : { thread }),
})

interface Case {
  readonly why: string
  readonly entries: Entry[]
  readonly pending?: Pending[]
  /** Key, and ids from the oldest to the newest, newest conversation first. */
  readonly groups: [string, string[]][]
}

const CASES: Case[] = [
  { why: 'nothing', entries: [], groups: [] },
  {
    why: 'both sides of a pair, by address and by id, in the order of time',
    entries: [
      entryOf('c', { at: 3, cursor: 2 }),
      entryOf('a', { at: 1, from: 'ID-OF-BOB', cursor: 1 }),
      entryOf('b', own(2)),
    ],
    groups: [['with:bob', ['a', 'b', 'c']]],
  },
  {
    why: 'within a second, in the order of the times of the senders',
    entries: [
      entryOf('b', { ...own(1), ts: '2026-01-01T00:00:01.900Z' }),
      entryOf('a', { at: 1, cursor: 9, ts: '2026-01-01T00:00:01.100Z' }),
    ],
    groups: [['with:bob', ['a', 'b']]],
  },
  {
    why: 'the newest conversation first',
    entries: [entryOf('a', { at: 5 }), entryOf('b', { at: 9, from: 'carol@here' })],
    groups: [
      ['with:carol', ['b']],
      ['with:bob', ['a']],
    ],
  },
  {
    why: 'a thread with its root, apart from the rest of the pair',
    entries: [entryOf('a', { at: 1 }), entryOf('b', own(2, 'bob@here', 'a')), entryOf('c', { at: 3 })],
    groups: [
      ['with:bob', ['c']],
      ['thread:a', ['a', 'b']],
    ],
  },
  {
    why: 'a thread of more than two, whose root has expired',
    entries: [entryOf('b', { at: 2, thread: 'gone' }), entryOf('c', { at: 3, from: 'carol@here', thread: 'gone' })],
    groups: [['thread:gone', ['b', 'c']]],
  },
  {
    why: 'what waits to be sent, also as the only message and as the first answer',
    entries: [entryOf('a', { at: 1 })],
    pending: [pendingOf('p', 'bob@here', 9_000, 'a'), pendingOf('q', 'dora@here', 10_000)],
    groups: [
      ['with:dora', ['q']],
      ['thread:a', ['a', 'p']],
    ],
  },
  {
    why: 'a message that has just been accepted does not wait any more',
    entries: [entryOf('a', own(1))],
    pending: [pendingOf('a', 'bob@here', 1)],
    groups: [['with:bob', ['a']]],
  },
  {
    why: 'a post that waits is in no conversation',
    entries: [],
    pending: [pendingOf('p', 'board:abc', 1)],
    groups: [],
  },
]

test.each(CASES)('$why', ({ entries, pending = [], groups }) => {
  const found = groupConversations(entries, pending, RULES).map(({ key, entries: of, waiting }) => [
    key,
    [...of.map(({ message }) => message.envelope.id), ...waiting.map(({ envelope }) => envelope.id)],
  ])
  expect(found).toEqual(groups)
})

test.each([
  { why: 'read, and own', entries: [entryOf('a', { at: 1, cursor: 3 }), entryOf('b', own(2))], unread: 0 },
  { why: 'two unread', entries: [entryOf('a', { at: 1, cursor: 11 }), entryOf('b', { at: 2, cursor: 12 })], unread: 2 },
  {
    why: 'a request that waits',
    entries: [entryOf('a', { at: 1, cursor: 11, lane: 'requests' })],
    unread: 1,
    isRequest: true,
  },
  {
    why: 'a request beside accepted messages',
    entries: [entryOf('a', { at: 1, cursor: 3 }), entryOf('b', { at: 2, cursor: 12, lane: 'requests' })],
    unread: 1,
    isRequest: true,
  },
  { why: 'an own message that waits as a request', entries: [{ ...entryOf('a', own(1)) }], unread: 0 },
  {
    why: 'an unwanted request',
    entries: [entryOf('a', { at: 1, cursor: 11, lane: 'requests', from: 'mallory@here' })],
    unread: 0,
    isHidden: true,
  },
  {
    why: 'an unwanted request after accepted messages',
    entries: [
      entryOf('a', { at: 1, cursor: 11, from: 'mallory@here' }),
      entryOf('b', { at: 2, cursor: 12, lane: 'requests', from: 'mallory@here' }),
    ],
    unread: 1,
  },
])('$why', ({ entries, unread, isRequest = false, isHidden = false }) => {
  expect(groupConversations(entries, [], RULES)).toMatchObject([{ unread, isRequest, isHidden }])
})

test('an answer goes back to the newest message of the other side', () => {
  const entries = [entryOf('a', { at: 1 }), entryOf('b', { at: 2 }), entryOf('c', own(3))]
  const [conversation] = groupConversations(entries, [], RULES)
  if (conversation === undefined) throw new Error('there must be a conversation')
  expect([conversation.peer, answeredBy(conversation, RULES)?.envelope.id]).toEqual(['bob@here', 'b'])
})
