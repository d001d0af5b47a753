import type { Sql } from '@svc/postgres/database.ts'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listContacts } from '../../src/store/contacts.ts'
import { purgePending } from '../../src/store/operate/purge.ts'
import { findPost, listReceivers } from '../../src/store/posts.ts'
import { listArrivals, readArrivals } from '../../src/store/read/arrivals.ts'
import { listEvents } from '../../src/store/read/events.ts'
import { listExport } from '../../src/store/read/export.ts'
import { listFeed } from '../../src/store/read/feed.ts'
import { listInbox } from '../../src/store/read/inbox.ts'
import { findMessage } from '../../src/store/read/messages.ts'
import { listRevoked } from '../../src/store/read/revoked.ts'
import { type Harness, startHarness } from '../support/harness.ts'

/** Messages in the log that is read, and as many in other logs. */
const ROWS = 6_000
const LIMIT = 20
/** When messages expire. They are in six partitions. */
const FAR = 4_000_000_000

interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: PlanNode[]
}

/**
 * bob's log: every tenth message is of one thread with alice, who sent more than half of it; few of the thread are
 * unacknowledged.
 */
async function fill(sql: postgres.Sql): Promise<void> {
  await sql`
    insert into messaging.messages
      (place, id, digest, sender, recipient, lane, position, thread_id, envelope, accepted_at, expires_at, acked, batch, ordinal)
    select messaging.new_place(${FAR} - n % 6 * 432000, 2592000), 'message-' || n, '', case when n % 2 = 0 or n % 10 = 1 then 'alice' else 'sender-' || n % 97 end,
      case when n <= ${ROWS} then 'bob' else 'agent-' || n % 97 end, case n % 4 when 0 then 'requests' else 'inbox' end, n,
      case when n % 10 = 1 and n between 2 and ${ROWS} then 'message-1' end, repeat('x', 500), 1, ${FAR} - n % 6 * 432000,
      n % 100 <> 1 and (n % 10 = 1 or n % 3 <> 0), 1, n
    from generate_series(1, ${2 * ROWS}::bigint) n`
  await sql`
    insert into messaging.entries (log, kind, position, message, thread_id, expires_at)
    select recipient, lane, position, place, thread_id, expires_at from messaging.messages`
  await sql`
    insert into messaging.ids (key, "check", place)
    select messaging.id_key(m.id, s.secret), 0, m.place << 2 from messaging.id_secret s, messaging.messages m`
  await fillBoards(sql)
  await sql`insert into messaging.logs (id, head) select recipient, max(position) from messaging.messages group by 1`
  await sql`
    insert into messaging.contacts (owner, other, state)
    select case when n <= ${ROWS} then 'bob' else 'agent-' || n % 97 end, 'other-' || n, 'accepted'
    from generate_series(1, ${2 * ROWS}::bigint) n`
  await sql`
    insert into messaging.pending (recipient, sender, message, expires_at)
    select 'bob', 'other-' || n, n, ${FAR} from generate_series(1, ${ROWS}::bigint) n`
}

/**
 * As many posts on a board: every tenth is by carol, half are of one thread, every tenth is hidden. Carol has an event
 * for each.
 */
async function fillBoards(sql: postgres.Sql): Promise<void> {
  await sql`
    insert into messaging.messages
      (place, id, digest, sender, recipient, lane, position, thread_id, envelope, accepted_at, expires_at, batch, ordinal, hidden)
    select messaging.new_place(${FAR} - n % 6 * 432000, 2592000), 'post-' || n, '', case when n % 10 = 0 then 'carol' else 'author-' || n % 97 end,
      case when n <= ${ROWS} then 'board' else 'board-' || n % 97 end, 'board', n,
      case when n % 10 < 5 and n > 10 then 'post-10' end, repeat('x', 500), 1, ${FAR} - n % 6 * 432000, 2, n, n % 10 = 7
    from generate_series(1, ${2 * ROWS}::bigint) n`
  await sql`
    insert into messaging.entries (log, kind, position, message, thread_id, expires_at)
    select recipient, lane, position, place, thread_id, expires_at from messaging.messages where lane = 'board' and not hidden
    union all
    select 'carol', lane, position, place, null, expires_at from messaging.messages where lane = 'board'`
  await sql`
    insert into messaging.ids (key, "check", place)
    select messaging.id_key(m.id, s.secret), 0, m.place << 2 | 2
    from messaging.id_secret s, messaging.messages m where m.lane = 'board'`
  await sql`
    insert into messaging.votes (message, voter)
    select messaging.place_of('post-' || n % 100 + 1), 'voter-' || n from generate_series(1, ${ROWS}::bigint) n`
  await sql`insert into messaging.logs (id, head) values ('carol', ${2 * ROWS})`
}

const inboxQuery = {
  agentId: 'bob',
  lane: 'inbox',
  unacked: false,
  threadId: null,
  after: ROWS / 2,
  limit: LIMIT,
} as const
const exportQuery = {
  agentId: 'bob',
  threadId: null,
  after: { batch: 0, ordinal: 0 },
  settled: 0,
  withoutBoards: [],
  limit: LIMIT,
}
const eventsQuery = { agentId: 'bob', after: 0, withoutBoards: [], limit: LIMIT }
const feedQuery = { boardId: 'board', threadId: null, after: ROWS / 2, limit: LIMIT }

const QUERIES: [string, (sql: Sql) => Promise<unknown>][] = [
  ['agents that were revoked lately', (sql) => listRevoked(sql, 0, LIMIT)],
  ['a message', (sql) => findMessage(sql, 'bob', 'message-7')],
  ['the inbox', (sql) => listInbox(sql, inboxQuery)],
  ['the requests', (sql) => listInbox(sql, { ...inboxQuery, lane: 'requests' })],
  ['unacknowledged messages', (sql) => listInbox(sql, { ...inboxQuery, unacked: true })],
  ['a thread', (sql) => listInbox(sql, { ...inboxQuery, threadId: 'message-1' })],
  [
    'unacknowledged messages of a thread',
    (sql) => listInbox(sql, { ...inboxQuery, threadId: 'message-1', unacked: true }),
  ],
  ['everything, by who received it', (sql) => listExport(sql, exportQuery)],
  ['everything, by who sent it', (sql) => listExport(sql, { ...exportQuery, agentId: 'alice' })],
  ['a thread, by acceptance', (sql) => listExport(sql, { ...exportQuery, threadId: 'message-1' })],
  ['a thread, for a stranger', (sql) => listExport(sql, { ...exportQuery, agentId: 'eve', threadId: 'message-1' })],
  ['the oldest events', (sql) => listEvents(sql, eventsQuery)],
  ['the newest events', (sql) => listEvents(sql, { ...eventsQuery, after: ROWS - LIMIT })],
  ['no new events', (sql) => listEvents(sql, { ...eventsQuery, after: ROWS })],
  ['events of posts', (sql) => listEvents(sql, { ...eventsQuery, agentId: 'carol', after: ROWS / 2 })],
  [
    'events of posts without a board that was left',
    (sql) =>
      listEvents(sql, { ...eventsQuery, agentId: 'carol', after: ROWS - 3, withoutBoards: ['board', 'board-9'] }),
  ],
  ['everything, by who posted it', (sql) => listExport(sql, { ...exportQuery, agentId: 'carol' })],
  ['own posts of a long thread', (sql) => listExport(sql, { ...exportQuery, agentId: 'carol', threadId: 'post-10' })],
  ["others' posts of a thread", (sql) => listExport(sql, { ...exportQuery, agentId: 'eve', threadId: 'post-10' })],
  ['the feed of a board', (sql) => listFeed(sql, feedQuery)],
  ['a thread on a board', (sql) => listFeed(sql, { ...feedQuery, threadId: 'post-10' })],
  ['the root of a thread on a board', (sql) => listFeed(sql, { ...feedQuery, threadId: 'post-10', after: 0 })],
  ['a post', (sql) => findMessage(sql, null, 'post-7')],
  ['a post and a vote for it', (sql) => findPost(sql, 'post-7', 'voter-7')],
  ['agents that have an event of a post', (sql) => listReceivers(sql, 'board', 'post-7')],
  ['arrivals', (sql) => listArrivals(sql, [{ agent_id: 'bob', after: ROWS / 2 }], LIMIT)],
  ['no new arrivals', (sql) => listArrivals(sql, [{ agent_id: 'bob', after: ROWS }], LIMIT)],
  [
    'arrivals that are read',
    (sql) =>
      readArrivals(
        sql,
        [6, 7, 9].map((cursor) => ({ agent_id: 'bob', cursor })),
      ),
  ],
  ['contacts', (sql) => listContacts(sql, 'bob', 'other-3', LIMIT)],
  ['requests to purge', (sql) => purgePending(sql, LIMIT)],
]

describe('each read is one indexed query, whatever the volume', () => {
  let h: Harness
  beforeAll(async () => {
    h = await startHarness()
    const admin = h.openAdmin()
    await fill(admin)
    await admin`analyze`
  })
  afterAll(() => h[Symbol.asyncDispose]())

  describe.each(['force_generic_plan', 'force_custom_plan'])('%s', (mode) => {
    test.each(QUERIES)('%s: by indexes, and no more rows than the page needs', async (_name, query) => {
      const plan = await explain(h, mode, query)
      const scans = nodesOf(plan).filter((node) => node['Relation Name'] !== undefined)
      expect(scans.length).toBeGreaterThan(0)
      expect(scans.filter((node) => node['Node Type'] === 'Seq Scan')).toEqual([])
      for (const node of scans) {
        const rows = (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
        expect(rows).toBeLessThanOrEqual(2 * LIMIT)
      }
    })
  })
})

/** The executed plan of the statement that `query` runs, with its parameters. */
async function explain(h: Harness, mode: string, query: (sql: Sql) => Promise<unknown>): Promise<PlanNode> {
  const statements: { text: string; parameters: unknown[] }[] = []
  const sql = postgres(h.urlFor(), {
    max: 1,
    debug: (_connection, text, parameters) => void statements.push({ text, parameters }),
  })
  try {
    await sql`select` // afterwards the driver knows the types of arrays
    statements.length = 0
    await query(sql as unknown as Sql)
    expect(statements).toHaveLength(1)
    const [{ text, parameters } = { text: '', parameters: [] }] = statements
    await sql.unsafe(`set plan_cache_mode = ${mode}`)
    await sql.unsafe(`prepare statement as ${text}`)
    const values = parameters.map((value) => (value === null ? 'null' : `'${String(value)}'`)).join(', ')
    const [row] = await sql.unsafe<{ 'QUERY PLAN': [{ Plan: PlanNode }] }[]>(
      `explain (analyze, format json) execute statement(${values})`,
    )
    if (row === undefined) throw new Error('explain answers one row')
    return row['QUERY PLAN'][0].Plan
  } finally {
    await sql.end()
  }
}

function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)]
}
