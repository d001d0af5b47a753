/** A correct history of one message, and the violation that the checker reports for each error added to it. */
import { describe, expect, test } from 'vitest'
import type { BoardVisibility, Call, Role, Seen, Sent } from '../history/calls.ts'
import type { Entry } from '../history/history.ts'
import { check } from './check.ts'
import type { Final, FinalAgent } from './final.ts'

const [ALICE, BOB] = ['alice', 'bob']
const START_MS = Date.UTC(2026, 10, 20, 12)
const DAY = '2026-11-20'
const OPTIONS = {
  limits: { freeUnits: 80, hardLimit: 320, introductions: 8 },
  readFromMs: START_MS + 60_000,
  readUntilMs: START_MS + 61_000,
  skewMs: 0,
  calm: false,
}
const SENT: Sent = {
  id: 'message-1',
  digest: 'd1',
  from: ALICE,
  to: BOB,
  isPost: false,
  bytes: 10,
  characters: 10,
  tsMs: START_MS + 1_000,
  ttl: 0,
  replyTo: null,
  threadId: null,
}
const SEEN: Seen = { id: SENT.id, digest: SENT.digest, lane: 'inbox', acked: false, upvotes: 0, expiresAt: 0 }
const OPERATION = `messaging:message:${SENT.id}:${'0'.repeat(64)}`

let n = 0
function asked(actor: string, call: Call, atMs: number, status: number | null, body = {}): Entry[] {
  n += 1
  return [
    { type: 'call', n, op: n, actor, via: 0, atMs, call },
    { type: 'answer', n, atMs: atMs + 100, status, body },
  ]
}

const OPENED = asked(BOB, { kind: 'patch', policy: 'open' }, START_MS, 200, { policy: 'open' })
const ACCEPTED = asked(ALICE, { kind: 'send', sent: SENT }, START_MS + 1_000, 202, { lane: 'inbox', duplicate: false })
const STREAMED: Entry = {
  type: 'stream',
  actor: BOB,
  client: 0,
  connection: 1,
  atMs: START_MS + 2_000,
  event: 'message',
  cursor: 1,
  id: SENT.id,
  digest: SENT.digest,
  kind: 'inbox',
}
const HISTORY: readonly Entry[] = [...OPENED, ...ACCEPTED, STREAMED]

function agent(id: string, changes: Partial<FinalAgent>): FinalAgent {
  const nothing = { contacts: {}, inbox: [], requests: [], events: [], exported: [], webhook: undefined, me: {} }
  return { id, name: id, revoked: false, budget: { used: 1, introductions: 0, credits: 0 }, ...nothing, ...changes }
}

const CHARGE = {
  operation: OPERATION,
  state: 'settled',
  agent_id: ALICE,
  units: 1,
  credits: 0,
  introduces: true,
  introduction_peer: BOB,
  day: DAY,
}
const FINAL: Final = {
  agents: [
    agent(ALICE, { exported: [SEEN], budget: { used: 1, introductions: 1, credits: 0 } }),
    agent(BOB, { inbox: [SEEN], events: [{ ...SEEN, cursor: 1 }], exported: [SEEN] }),
  ],
  boards: [],
  messages: [
    {
      id: SENT.id,
      sender: ALICE,
      recipient: BOB,
      lane: 'inbox',
      position: 1,
      request_position: null,
      upvotes: 0,
      hidden: false,
      purged: false,
    },
  ],
  entries: [{ log: BOB, kind: 'inbox', position: 1, message: SENT.id }],
  heads: { [BOB]: 1 },
  votes: [],
  charges: [CHARGE, { ...CHARGE, operation: 'identity:1', agent_id: BOB, introduces: false, introduction_peer: null }],
  days: [
    { agent_id: ALICE, day: DAY, used: 1, introductions: 1, drawn: 0 },
    { agent_id: BOB, day: DAY, used: 1, introductions: 0, drawn: 0 },
  ],
  accounts: [],
  introductions: [{ agent_id: ALICE, peer: BOB, day: DAY, settled: true }],
  committed: ['identity:1'],
  memberships: [],
  owned: [],
}

const [FINAL_ALICE, FINAL_BOB] = FINAL.agents as [FinalAgent, FinalAgent]
const [MESSAGE] = FINAL.messages as [Final['messages'][number]]
const [ENTRY] = FINAL.entries as [Final['entries'][number]]
const other = { ...SENT, digest: 'd2' }

function rulesOf(history: readonly Entry[], final: Partial<Final>): string[] {
  return [...new Set(check(history, { ...FINAL, ...final }, OPTIONS).map(({ rule }) => rule))]
}

test('a correct history', () => {
  expect(check(HISTORY, FINAL, OPTIONS)).toEqual([])
})

test.each<[answer: string, status: number | null, code: string]>([
  ['no answer', null, 'TypeError'],
  ['503', 503, 'unavailable'],
])('spec 3.17: %s is allowed, but not without faults', (_answer, status, code) => {
  const history = [...HISTORY, ...asked(BOB, { kind: 'me' }, START_MS + 4_000, status, { code })]
  expect(check(history, FINAL, OPTIONS)).toEqual([])
  const found = check(history, FINAL, { ...OPTIONS, calm: true })
  expect(found.map(({ rule }) => rule)).toEqual(['answers: none is missing while nothing is broken'])
})

test.each<[rule: string, history: readonly Entry[], final: Partial<Final>]>([
  ['durability: each 202 is readable', HISTORY, { messages: [] }],
  ['durability: export', HISTORY, { agents: [{ ...FINAL_ALICE, exported: [] }, FINAL_BOB] }],
  ['delivered exactly where it should be', HISTORY, { agents: [FINAL_ALICE, { ...FINAL_BOB, inbox: [] }] }],
  ['delivered exactly where it should be', HISTORY, { agents: [FINAL_ALICE, { ...FINAL_BOB, requests: [SEEN] }] }],
  ['one event for each arrival', HISTORY, { agents: [FINAL_ALICE, { ...FINAL_BOB, events: [] }] }],
  [
    'one effect per message id',
    [...HISTORY, ...asked(ALICE, { kind: 'send', sent: other }, START_MS + 3_000, 202, { lane: 'inbox' })],
    {},
  ],
  [
    'messages are shown as they were sent',
    HISTORY,
    { agents: [FINAL_ALICE, { ...FINAL_BOB, inbox: [{ ...SEEN, digest: 'changed' }] }] },
  ],
  [
    'no refused message is delivered',
    [...OPENED, STREAMED, ...asked(ALICE, { kind: 'send', sent: SENT }, START_MS + 1_000, 403, { code: 'forbidden' })],
    {},
  ],
  ['cursors are given once', HISTORY, { entries: [ENTRY, ENTRY] }],
  ['cursors are contiguous', HISTORY, { heads: { [BOB]: 2 } }],
  [
    'promoted with the acceptance',
    [
      ...HISTORY.map((entry) =>
        entry.type === 'answer' && entry.body.lane === 'inbox' ? { ...entry, body: { lane: 'requests' } } : entry,
      ),
      ...asked(BOB, { kind: 'contact', other: ALICE, state: 'accepted' }, START_MS + 5_000, 200),
    ],
    { messages: [{ ...MESSAGE, lane: 'requests' }] },
  ],
  ['books: each message is charged once', HISTORY, { charges: FINAL.charges.slice(1) }],
  ['books: units', HISTORY, { charges: [{ ...CHARGE, units: 2 }, ...FINAL.charges.slice(1)] }],
  ['books: units used', HISTORY, { days: FINAL.days.map((day) => ({ ...day, used: 2 })) }],
  ['books: no charge without its effect', HISTORY, { committed: [] }],
  ['books: introductions', HISTORY, { introductions: [] }],
  ['books: credits', HISTORY, { accounts: [{ agent_id: ALICE, credits: 3, granted: 0 }] }],
  ['streams: nothing is lost', [...OPENED, ...ACCEPTED, { ...STREAMED, event: 'cursor', cursor: 1 }], {}],
  ['streams: in order and not repeated', [...HISTORY, STREAMED], {}],
  [
    'answers: never a 500',
    [...HISTORY, ...asked(BOB, { kind: 'me' }, START_MS + 4_000, 500, { code: 'internal' })],
    {},
  ],
  [
    'answers: as the specification allows',
    [...HISTORY, ...asked(ALICE, { kind: 'message', id: SENT.id }, START_MS + 4_000, 404, { code: 'not_found' })],
    {},
  ],
  [
    'reads: settings',
    [...HISTORY, ...asked(BOB, { kind: 'me' }, START_MS + 4_000, 200, { policy: 'requests', discoverable: false })],
    {},
  ],
  [
    'no nonce is accepted twice',
    [
      ...HISTORY,
      ...[200, 200].map((status): Entry => {
        return { type: 'replay', nonce: 'n', actor: BOB, atMs: START_MS, endMs: START_MS + 1, status, code: undefined }
      }),
    ],
    {},
  ],
  [
    'webhooks: at least once',
    [...asked(BOB, { kind: 'set-webhook', url: 'https://hook/bob/1', secret: 's' }, START_MS - 1_000, 200), ...HISTORY],
    { agents: [FINAL_ALICE, { ...FINAL_BOB, webhook: { url: 'https://hook/bob/1', pending: 0, failed: 0 } }] },
  ],
])('%s', (rule, history, final) => {
  expect(rulesOf(history, final)).toContain(rule)
})

describe('spec 9.3, 9.5: posts of a board that a reader has left', () => {
  const BOARD = 'board'
  const POST: Sent = { ...SENT, id: 'post-1', digest: 'p1', to: BOARD, isPost: true, tsMs: START_MS + 3_000 }
  const SEEN_POST: Seen = { ...SEEN, id: POST.id, digest: POST.digest, lane: 'board', cursor: 2 }

  /** Alice posts, then Bob, a reader, leaves. Afterwards he reads his events, which are empty, and the post. */
  function scene(visibility: BoardVisibility): { history: Entry[]; final: Partial<Final> } {
    const events = (atMs: number, messages: Seen[]): Entry[] =>
      asked(BOB, { kind: 'events', after: 1, limit: 10 }, START_MS + atMs, 200, { messages, nextCursor: 2 })
    const created = asked(ALICE, { kind: 'create-board', title: 't', visibility, posting: 'members' }, START_MS, 201, {
      id: BOARD,
    })
    const role = (role: Role, atMs: number): Entry[] =>
      asked(BOB, { kind: 'role', board: BOARD, agent: BOB, role }, START_MS + atMs, 200)
    return {
      history: [
        ...[...HISTORY, ...created, ...role('reader', 2_000)],
        ...asked(ALICE, { kind: 'send', sent: POST }, POST.tsMs, 202, { lane: 'board' }),
        ...[...role('none', 5_000), ...events(6_000, []), ...events(7_000, [SEEN_POST])],
      ],
      final: { entries: [ENTRY, { log: BOB, kind: 'board', position: 2, message: POST.id }] },
    }
  }
  const RULES = [
    'streams: nothing is lost',
    'nothing new at or below a cursor',
    'posts: an event for every readable post',
    'posts: to those who may read the board',
  ]

  test.each<[BoardVisibility, string[]]>([
    ['public', RULES.slice(0, 3)],
    ['unlisted', RULES.slice(0, 3)],
    ['private', RULES.slice(3)],
  ])('on a %s board: %j', (visibility, expected) => {
    const { history, final } = scene(visibility)
    expect(RULES.filter((rule) => rulesOf(history, final).includes(rule))).toEqual(expected)
  })
})

describe('spec 7.4, 8.8, 11.2: a post costs what it cost the attempt that was accepted', () => {
  const CAROL = 'carol'
  const BOARD = 'board'
  const POST: Sent = { ...SENT, id: 'post-1', digest: 'p1', to: BOARD, isPost: true }

  /** Bob owns the board. Carol joins between the first and the second attempt. */
  function found(first: number | null, second: number | undefined, used: number): string[] {
    const call: Call = { kind: 'send', sent: POST }
    const board: Call = { kind: 'create-board', title: 't', visibility: 'public', posting: 'anyone' }
    const history = [
      ...asked(BOB, board, START_MS, 201, { id: BOARD }),
      ...asked(ALICE, call, START_MS + 1_000, first, { lane: 'board' }),
      ...asked(CAROL, { kind: 'role', board: BOARD, agent: CAROL, role: 'reader' }, START_MS + 2_000, 200),
      ...(second === undefined ? [] : asked(ALICE, call, START_MS + 3_000, second, { lane: 'board' })),
      ...asked(ALICE, { kind: 'budget' }, START_MS + 4_000, 200, { budget: { used, introductions: 0, credits: 0 } }),
    ]
    return rulesOf(history, {}).filter((rule) => rule === 'reads: units used')
  }

  test.each<[first: number | null, second: number | undefined, possible: number[]]>([
    [503, 200, [1, 2]],
    [503, 202, [2]],
    [403, 200, [2]],
    // The service may judge an unanswered attempt after its client has given up.
    [null, undefined, [0, 1, 2]],
  ])('%s, a new subscriber, %s: %j units', (first, second, possible) => {
    expect([0, 1, 2, 3].filter((used) => found(first, second, used).length === 0)).toEqual(possible)
  })
})
