import { randomBytes } from 'node:crypto'
import { messageOperation } from '@svc/contracts/message-operation.ts'
import type { Database } from '@svc/postgres/database.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CommittedEntry } from '../../src/domain/accepted-events.ts'
import { type Append, createAppend } from '../../src/store/send/append.ts'
import { createPreflight } from '../../src/store/send/preflight.ts'
import { holdLogs } from '../support/held-logs.ts'
import { RETENTION_SECONDS, startStore } from '../support/store.ts'

/** Later than any deadline of a test that is not about fences. */
const FENCED_MS = Date.now() + 600_000

async function startHarness() {
  const store = await startStore()
  const { database, open } = store
  const committed: CommittedEntry[] = []
  const appendOn = (on: typeof database) =>
    createAppend({
      database: on,
      retentionSeconds: RETENTION_SECONDS,
      onCommitted: (entries) => committed.push(...entries),
    })
  return {
    ...store,
    committed,
    newAppender: () => appendOn(open()),
    appendElsewhere: appendOn(open()),
    append: appendOn(database),
    preflight: createPreflight(database),
    /** Locks logs like a process that is frozen in the middle of a contact change. */
    hold: (...logs: string[]) => holdLogs(store.openAdmin(), logs),
    positionsOf: async (log: string) => {
      const rows = await database.run(
        (sql) =>
          sql<{ position: number }[]>`select position from messaging.entries where log = ${log} order by position`,
      )
      return rows.map((row) => row.position)
    },
  }
}

const QUESTION = {
  id: 'message-1',
  digest: 'ab'.repeat(32),
  sender: 'alice',
  recipient: 'bob',
  replyTo: null,
  threadId: null,
}

function message(changes: Partial<Append> = {}): Append {
  const id = changes.id ?? randomBytes(12).toString('base64url')
  const digest = changes.digest ?? randomBytes(32).toString('hex')
  return {
    id,
    digest,
    sender: 'alice',
    recipient: 'bob',
    lane: 'inbox',
    threadId: null,
    envelope: `{"id":"${id}"}`,
    expiryCap: null,
    policy: 'requests',
    contact: 'none',
    standingVersion: 0,
    operation: messageOperation(id, digest),
    deadlineMs: Date.now() + 60_000,
    ...changes,
  }
}

/** The rows of the recipient's log, with ids and times replaced by names, so that two runs can be compared. */
async function storedWith(database: Database, sent: Append): Promise<object[]> {
  const rows = await database.run(
    (sql) => sql`
      select m.id = ${sent.id} as sent, encode(m.digest, 'hex') = ${sent.digest} as same, m.sender, m.lane, m.position,
        m.thread_id, m.envelope = ${sent.envelope} as whole, m.expires_at - m.accepted_at < 3600 as short, m.acked,
        m.ordinal > 0 as placed, m.batch::text::xid = m.xmin as numbered, e.kind, e.position as entry,
        e.thread_id as entry_thread, e.expires_at = m.expires_at as together, l.head, p.message is not null as pending,
        -- The part that is kept after a purge.
        (
          select (i.place & 3) || case when i."check" = messaging.id_check(m.digest, m.sender, s.secret) then ' known' end
          from messaging.id_secret s, messaging.ids i where i.place >> 2 = m.place and i.key = messaging.id_key(m.id, s.secret)
        ) as taken, m.place >> 23 = m.expires_at + (messaging.slot_of(m.expires_at, ${RETENTION_SECONDS})::bigint << 33) as located
      from messaging.messages m
      join messaging.logs l on l.id = m.recipient
      left join messaging.entries e on e.log = m.recipient and e.message = m.place
      left join messaging.pending p on p.message = m.place
      where m.recipient = ${sent.recipient} order by m.position`,
  )
  return [...rows]
}

describe('ADR 19: an append', () => {
  test('spec 9.3: 50 concurrent senders over two processes give contiguous positions, never visible out of order', async () => {
    await using h = await startHarness()
    let done = false
    const seen = watch()
    const senders = Array.from({ length: 50 }, (_, index) => sendMany(`sender-${index}`, index))
    await Promise.all(senders)
    done = true
    const reads = await seen
    expect(await h.positionsOf('bob')).toEqual(Array.from({ length: 500 }, (_, index) => index + 1))
    // A reader that saw position N had seen all lower positions.
    for (const { count, max } of reads) expect(count).toBe(max)
    await eventually(() => h.committed.length >= 500)
    expect(new Set(h.committed.map((entry) => entry.position)).size).toBe(500)

    async function sendMany(sender: string, index: number): Promise<void> {
      const append = index % 2 === 0 ? h.append : h.appendElsewhere
      for (let count = 0; count < 10; count += 1) {
        expect(await append(message({ sender }))).toEqual({ outcome: 'accepted', lane: 'inbox' })
      }
    }

    async function watch(): Promise<{ count: number; max: number }[]> {
      const all: { count: number; max: number }[] = []
      while (!done) {
        const [row] = await h.database.run(
          (sql) => sql<{ count: number; max: number }[]>`
            select count(*) as count, coalesce(max(position), 0) as max from messaging.entries where log = 'bob'`,
        )
        if (row !== undefined) all.push(row)
      }
      return all
    }
  })

  test('spec 7.4: two processes append the same id at once: one succeeds, and the other gets a duplicate or a conflict', async () => {
    await using h = await startHarness()
    for (let round = 0; round < 20; round += 1) {
      const same = message()
      const twice = await Promise.all([h.append(same), h.appendElsewhere(same)])
      expect(twice.map((result) => result.outcome).sort()).toEqual(['accepted', 'duplicate'])
      const other = message()
      const rival = message({ id: other.id, sender: 'mallory', recipient: 'carol' })
      const contest = await Promise.all([h.append(other), h.appendElsewhere(rival)])
      expect(contest.map((result) => result.outcome).sort()).toEqual(['accepted', 'conflict'])
    }
    expect(await h.positionsOf('bob').then((all) => all.length)).toBeGreaterThanOrEqual(20)
  })

  test('concurrent appends of the same ids wait for each other and never deadlock', async () => {
    await using h = await startHarness()
    for (let round = 0; round < 30; round += 1) {
      const ids = Array.from({ length: 30 }, (_, at) => `${round}-${String(at).padStart(2, '0')}`)
      const [one, other] = await Promise.all([
        Promise.all(ids.map((id) => h.append(message({ id, recipient: 'one' })))),
        Promise.all(ids.toReversed().map((id) => h.appendElsewhere(message({ id, recipient: 'other' })))),
      ])
      const outcomes = one.map(({ outcome }, at) => [outcome, other.toReversed()[at]?.outcome].sort())
      expect(outcomes).toEqual(ids.map(() => ['accepted', 'conflict']))
    }
    expect(h.errors).not.toContain('40P01')
  })

  test('spec 7.4: senders that race for an id do not delay other messages of their batches', async () => {
    await using h = await startHarness()
    const rivals = Array.from({ length: 3 }, h.newAppender)
    for (let round = 0; round < 10; round += 1) {
      const ids = Array.from({ length: 60 }, (_, at) => `${round}-${String(at).padStart(2, '0')}`)
      const chasing = rivals.map(async (append, at) => {
        const outcomes: string[] = []
        for (const id of ids) outcomes.push((await append(message({ id, recipient: `rival-${at}` }))).outcome)
        return outcomes
      })
      const stranger = h.append(message({ recipient: 'stranger' }))
      const together = await Promise.all(ids.map((id) => h.append(message({ id, recipient: 'together' }))))
      expect((await stranger).outcome).toBe('accepted')
      const all = [together.map(({ outcome }) => outcome), ...(await Promise.all(chasing))]
      for (const at of ids.keys()) {
        expect(all.map((outcomes) => outcomes[at]).sort()).toEqual(['accepted', 'conflict', 'conflict', 'conflict'])
      }
    }
  })

  test('spec 7.6: of two concurrent requests of a pair, one is pending, and the other is decided again', async () => {
    await using h = await startHarness()
    for (let round = 0; round < 20; round += 1) {
      const sender = `stranger-${round}`
      const ask = () => message({ sender, lane: 'requests' })
      const results = await Promise.all([h.append(ask()), h.append(ask()), h.appendElsewhere(ask())])
      expect(results.map((result) => result.outcome).sort()).toEqual(['accepted', 'stale', 'stale'])
    }
  })

  test.each<[string, string, Partial<Append>, string]>([
    ['nothing', '', {}, 'accepted'],
    ['its view of another agent', `insert into messaging.contacts values ('bob', 'carol', 'blocked')`, {}, 'accepted'],
    ['its view of the sender', `insert into messaging.contacts values ('bob', 'alice', 'blocked')`, {}, 'stale'],
    [
      'its view of the sender, and changed it back',
      `insert into messaging.contacts values ('bob', 'alice', 'accepted')`,
      { contact: 'accepted' },
      'accepted',
    ],
    ['the policy', `update messaging.logs set policy = 'closed'`, {}, 'stale'],
    ['the policy, and changed it back', `update messaging.logs set policy = 'open'`, { policy: 'open' }, 'accepted'],
    ['its status: it was revoked', 'update messaging.logs set revoked = true', {}, 'stale'],
  ])(
    'spec 7.6: a message that was decided before the recipient changed %s %s',
    async (_name, change, ground, outcome) => {
      await using h = await startHarness()
      await h.append(message())
      await h.database.run((sql) => sql.unsafe(`${change}; update messaging.logs set standing_version = 7`))
      const results = await Promise.all([
        h.append(message(ground)),
        h.append(message({ ...ground, standingVersion: 7 })),
        h.append(message({ recipient: 'carol' })),
      ])
      // An unchanged version shows at once that nothing has changed, and a stale item does not delay others.
      expect(results.map((result) => result.outcome)).toEqual([outcome, 'accepted', 'accepted'])
      expect(await h.positionsOf('bob')).toHaveLength(outcome === 'stale' ? 2 : 3)
    },
  )

  test.each([
    ['no ttl: retention', null, RETENTION_SECONDS],
    ['a shorter ttl', 60, 60],
    ['a longer ttl: retention', RETENTION_SECONDS * 2, RETENTION_SECONDS],
  ])('spec 6.8: expires_at is the lesser of retention and ts + ttl: %s', async (_name, ttl, expected) => {
    await using h = await startHarness()
    const now = Math.floor(Date.now() / 1000)
    await h.append(message({ expiryCap: ttl === null ? null : now + ttl }))
    await eventually(() => h.committed.length > 0)
    const entry = h.committed[0]
    const begin = ttl !== null && ttl < RETENTION_SECONDS ? now : (entry?.acceptedAt ?? 0)
    expect((entry?.expiresAt ?? 0) - begin).toBe(expected)
  })

  test('\\u0000 and every other character of an envelope survive as they were sent', async () => {
    await using h = await startHarness()
    const envelope = String.raw`{"body":"\u0000 \" \\ {},NULL 😀 é","n":-0.0,"x":1E400}`
    const sent = message({ envelope })
    await h.append(sent)
    const [row] = await h.database.run(
      (sql) => sql<{ envelope: string }[]>`select envelope from messaging.messages where id = ${sent.id}`,
    )
    expect(row?.envelope).toBe(envelope)
  })
})

describe('ADR 10: a message has the same outcome alone and in a batch', () => {
  let h: Awaited<ReturnType<typeof startHarness>>
  beforeAll(async () => {
    h = await startHarness()
  })
  afterAll(() => h[Symbol.asyncDispose]())

  const LATER = RETENTION_SECONDS * 2
  test.each<[string, string, (at: string) => Partial<Append>]>([
    ['in the usual case', '', () => ({})],
    ['to an agent without a log', '', (at) => ({ recipient: `new-${at}` })],
    ['of a thread', '', () => ({ threadId: 'thread' })],
    ['with a short ttl', '', () => ({ expiryCap: Math.floor(Date.now() / 1_000) + 60 })],
    ['with a long ttl', '', () => ({ expiryCap: Math.floor(Date.now() / 1_000) + LATER })],
    ['that is a request', '', () => ({ lane: 'requests' })],
    ['whose sender has a pending request', '', () => ({ lane: 'requests', sender: 'asked' })],
    ['that is stored already', '', (at) => ({ id: `there-${at}`, digest: 'ab'.repeat(32) })],
    ['that was stored and purged', '', (at) => ({ id: `gone-${at}`, digest: 'ab'.repeat(32) })],
    ['whose id belongs to a stored message', '', (at) => ({ id: `there-${at}` })],
    [
      'whose id belonged to a purged message',
      '',
      (at) => ({ id: `gone-${at}`, digest: 'ab'.repeat(32), sender: 'mallory' }),
    ],
    ['whose reservation was abandoned', '', (at) => ({ operation: `fenced-${at}`, deadlineMs: FENCED_MS })],
    ['reserved again after that', '', (at) => ({ operation: `fenced-${at}`, deadlineMs: FENCED_MS + 1 })],
    ['past its deadline', '', () => ({ deadlineMs: Date.now() - 60_000 })],
    [
      'whose recipient changed its settings and changed them back',
      `update messaging.logs set standing_version = 7 where id = 'at'`,
      () => ({}),
    ],
    [
      'whose recipient changed its settings',
      `update messaging.logs set standing_version = 7, policy = 'closed' where id = 'at'`,
      () => ({}),
    ],
  ])('an item %s', async (_name, change, item) => {
    const become = async (withOthers: boolean) => {
      const at = randomBytes(6).toString('hex')
      await h.append(message({ recipient: at, id: `there-${at}`, digest: 'ab'.repeat(32) }))
      await h.append(message({ recipient: at, lane: 'requests', sender: 'asked' }))
      await h.append(message({ recipient: 'past', id: `gone-${at}`, digest: 'ab'.repeat(32) }))
      await h.database.run((sql) =>
        sql.unsafe(`
          delete from messaging.messages where id = 'gone-${at}';
          insert into messaging.message_fences values ('fenced-${at}', ${FENCED_MS});
          ${change.replaceAll(`'at'`, `'${at}'`)}`),
      )
      const sent = message({ recipient: at, ...item(at) })
      const others = withOthers ? [message({ recipient: 'somebody' }), message()] : []
      const [{ outcome, lane }] = await Promise.all([h.append(sent), ...others.map((other) => h.append(other))])
      // They were in one batch: all accepted items of a batch have the number of its transaction.
      const batches = await h.database.run(
        (
          sql,
        ) => sql`select distinct batch from messaging.messages where id in ${sql([sent, ...others].map(({ id }) => id))}
          and id <> ${`there-${at}`}`,
      )
      expect(batches.length).toBeLessThanOrEqual(1)
      return { outcome, lane, stored: await storedWith(h.database, sent) }
    }
    expect(await become(false)).toEqual(await become(true))
  })
})

describe('a log that another transaction has locked', () => {
  const to = (...recipients: string[]) => recipients.map((recipient) => message({ recipient }))
  const [ACCEPTED, WAITING] = [{ outcome: 'accepted', lane: 'inbox' }, Symbol('waiting')]
  const stateOf = (answer: Promise<unknown>) =>
    Promise.race([answer, new Promise((done) => setImmediate(done, WAITING))])

  test('delays only its own messages among 1,000 logs, which are appended in order when it is free', async () => {
    await using h = await startHarness()
    const others = Array.from({ length: 999 }, (_, at) => `other-${at}`)
    await Promise.all(to('bob', 'dave', ...others).map(h.append))
    const held = await h.hold('bob')
    const [own, later] = [to('bob', 'bob', 'bob'), to('bob', 'bob')]
    const answers = own.map(h.append)
    // These are in one batch with the waiting messages, or after it. One of them goes to an agent without a log.
    const beside = to('new', ...others)
    expect(await Promise.all(beside.map(h.append))).toEqual(beside.map(() => ACCEPTED))
    const [batches] = await h.database.run(
      (sql) => sql<{ count: number }[]>`
        select count(distinct batch)::int as count from messaging.messages
        where id = any (${beside.map(({ id }) => id)}::text[])`,
    )
    // The batches stay as large as without the locked log, 128 messages each. The log that is made goes alone.
    expect(batches?.count).toBeLessThanOrEqual(Math.ceil((own.length + beside.length) / 128) + 1)
    answers.push(...later.map(h.append))
    for (let round = 0; round < 5; round += 1) expect(await Promise.all(to('dave').map(h.append))).toEqual([ACCEPTED])
    expect(await Promise.all(answers.map(stateOf))).toEqual(answers.map(() => WAITING))
    await held[Symbol.asyncDispose]()
    expect(await Promise.all(answers)).toEqual(answers.map(() => ACCEPTED))
    const rows = await h.database.run(
      (sql) => sql<{ id: string }[]>`select id from messaging.messages where recipient = 'bob' order by position`,
    )
    expect(rows.slice(1).map(({ id }) => id)).toEqual([...own, ...later].map(({ id }) => id))
    expect(await h.positionsOf('bob')).toEqual([1, 2, 3, 4, 5, 6])
  })

  test('gets its turn among any number of other locked logs, and leaves connections for other messages', async () => {
    await using h = await startHarness()
    const names = Array.from({ length: 12 }, (_, at) => `held-${at}`)
    await Promise.all(to(...names, 'carol').map(h.append))
    const [first, rest] = [await h.hold('held-0'), await h.hold(...names.slice(1))]
    const stalled = to(...names.slice(1)).map(h.append)
    const [own] = to('held-0').map(h.append)
    expect(await Promise.all(to('carol').map(h.append))).toEqual([ACCEPTED])
    // Other statements of the process get a connection too.
    expect((await h.preflight({ ...QUESTION, id: 'new' })).earlier).toBeUndefined()
    await first[Symbol.asyncDispose]()
    expect(await own).toEqual(ACCEPTED)
    expect(await Promise.all(stalled.map(stateOf))).toEqual(stalled.map(() => WAITING))
    await rest[Symbol.asyncDispose]()
    expect(await Promise.all(stalled)).toEqual(stalled.map(() => ACCEPTED))
  })

  test('delays no other log, even if the other transaction is still creating it', async () => {
    await using h = await startHarness()
    await h.append(message({ recipient: 'carol' }))
    const [made, free] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const making = h.database.transaction(async (tx) => {
      await tx`insert into messaging.logs (id) values ('unborn')`
      made.resolve()
      await free.promise
    })
    await made.promise
    const [own, other] = to('unborn', 'carol').map(h.append)
    expect(await other).toEqual(ACCEPTED)
    free.resolve()
    await making
    expect(await own).toEqual(ACCEPTED)
  })

  test('delays no fence: waiting messages of the log are abandoned at once, and appends to other logs continue', async () => {
    await using h = await startHarness()
    await Promise.all(to('bob', 'carol').map(h.append))
    const held = await h.hold('bob')
    const given = message()
    const answer = h.append(given)
    await eventually(() => h.errors.includes('55P03'), { what: 'the append to wait' })
    expect(await h.fences.fence([given])).toEqual([false])
    expect(await h.append(message({ recipient: 'carol' }))).toEqual(ACCEPTED)
    await held[Symbol.asyncDispose]()
    expect((await answer).outcome).toBe('fenced')
  })
})

describe('ADR 21: fences of messages', () => {
  test('a fence does not guess the outcome of an unfinished append: it answers unknown, and nothing else waits', async () => {
    await using h = await startHarness()
    const [contested, other] = [message(), message({ recipient: 'carol' })]
    await h.database.transaction(async (tx) => {
      await tx`select pg_advisory_xact_lock_shared(7305002, hashtext(${contested.operation}))`
      expect(await h.fences.fence([contested, other])).toEqual([undefined, false])
      expect((await h.append(message())).outcome).toBe('accepted')
    })
    expect(await h.fences.fence([contested])).toEqual([false])
  })

  test('a refusal by the fence is final for the attempt, but not for a later reservation', async () => {
    await using h = await startHarness()
    const given = message()
    expect(await h.fences.fence([given])).toEqual([false])
    expect((await h.append(given)).outcome).toBe('fenced')
    expect((await h.append({ ...given, deadlineMs: given.deadlineMs + 1 })).outcome).toBe('accepted')
    expect(await h.fences.fence([given])).toEqual([true])
  })

  test('past its deadline nothing is appended', async () => {
    await using h = await startHarness()
    expect((await h.append(message({ deadlineMs: Date.now() - 60_000 }))).outcome).toBe('fenced')
  })

  test.each([
    ['one', 1],
    ['several', 3],
  ])(
    'the clock is read after the locks are held: %s whose deadline passes while it waits for the log',
    async (_name, count) => {
      await using h = await startHarness()
      await h.append(message())
      const deadlineMs = Date.now() + 300
      const [late] = await h.database.transaction(async (tx) => {
        await tx`select from messaging.logs where id = 'bob' for update`
        const batch = Array.from({ length: count }, () => message({ deadlineMs }))
        const answers = Promise.all(batch.map((item) => h.appendElsewhere(item)))
        await tx`select pg_sleep(0.4)`
        return [answers]
      })
      expect((await late).map(({ outcome }) => outcome)).toEqual(Array(count).fill('fenced'))
    },
  )

  test('a fence of a conflicting id never answers for the operation of another sender', async () => {
    await using h = await startHarness()
    const first = message()
    await h.append(first)
    const rival = message({ id: first.id })
    expect((await h.append(rival)).outcome).toBe('conflict')
    expect(await h.fences.fence([rival, first])).toEqual([false, true])
  })

  test('of a concurrent fence and append, exactly one wins', async () => {
    await using h = await startHarness()
    for (let round = 0; round < 60; round += 1) {
      const contested = message()
      const [appended, fenced] = await Promise.all([h.appendElsewhere(contested), h.untilFenced(contested)])
      expect([appended.outcome, fenced]).toEqual(
        appended.outcome === 'accepted' ? ['accepted', true] : ['fenced', false],
      )
    }
  })
})

describe('preflight: all facts for the decision, in one statement', () => {
  test('spec 5.8: an agent without any messages has the defaults', async () => {
    await using h = await startHarness()
    expect(await h.preflight(QUESTION)).toEqual({
      earlier: undefined,
      recipientRevoked: false,
      standing: { policy: 'requests', contact: 'none', pending: false },
      standingVersion: 0,
      replyTo: undefined,
      thread: undefined,
    })
  })

  test('spec 7.4: an earlier message is found, live or purged', async () => {
    await using h = await startHarness()
    const sent = message()
    await h.append(sent)
    const { id, digest } = sent
    for (const purged of [false, true]) {
      if (purged) await h.database.run((sql) => sql`delete from messaging.messages where id = ${id}`)
      const earlier = async (question: object) => (await h.preflight({ ...QUESTION, id, digest, ...question })).earlier
      expect(await earlier({})).toEqual({ isIdentical: true, lane: 'inbox' })
      expect(await earlier({ sender: 'mallory' })).toEqual({ isIdentical: false, lane: 'inbox' })
      expect(await earlier({ digest: 'ab'.repeat(32) })).toEqual({ isIdentical: false, lane: 'inbox' })
      expect((await h.append(sent)).outcome).toBe('duplicate')
      expect((await h.append({ ...sent, sender: 'mallory' })).outcome).toBe('conflict')
      expect((await h.append(message({ id }))).outcome).toBe('conflict')
    }
  })

  test.each([
    ['of the same two agents, in reverse', 'bob', 'alice', null, 3_600, { sameConversation: true, root: true }],
    ['of the same two agents', 'alice', 'bob', null, 3_600, { sameConversation: true, root: true }],
    ['that is a member of a thread', 'alice', 'bob', 'some-root', 3_600, { sameConversation: true, root: false }],
    ['of another pair', 'alice', 'carol', null, 3_600, { sameConversation: false, root: false }],
    ['that has expired', 'alice', 'bob', null, -1, { sameConversation: false, root: false }],
  ])('spec 6.9: a thread reference to a message %s', async (_name, sender, recipient, threadId, ttl, expected) => {
    await using h = await startHarness()
    const referred = message({ sender, recipient, threadId, expiryCap: Math.floor(Date.now() / 1000) + ttl })
    await h.append(referred)
    const { thread, replyTo } = await h.preflight({ ...QUESTION, threadId: referred.id, replyTo: referred.id })
    expect(thread).toEqual(expected)
    expect(replyTo?.sameConversation).toBe(expected.sameConversation)
  })

  test('spec 7.6: a pending request counts until its message expires', async () => {
    await using h = await startHarness()
    const now = Math.floor(Date.now() / 1000)
    await h.append(message({ lane: 'requests', expiryCap: now + 1_000 }))
    await h.append(message({ sender: 'carol', lane: 'requests', expiryCap: now - 1 }))
    expect((await h.preflight(QUESTION)).standing.pending).toBe(true)
    expect((await h.preflight({ ...QUESTION, sender: 'carol' })).standing.pending).toBe(false)
    expect((await h.append(message({ sender: 'carol', lane: 'requests' }))).outcome).toBe('accepted')
  })
})

test('the head of a log is updated in place, so that it leaves no dead index entries', async () => {
  await using h = await startHarness()
  const count = 30
  for (let sent = 0; sent < count; sent += 1) await h.append(message())
  await eventually(async () => {
    await h.database.run((sql) => sql`select pg_stat_force_next_flush()`)
    const [updates] = await h.database.run(
      (sql) => sql`
        select n_tup_upd::int as all, n_tup_hot_upd::int as in_place
        from pg_stat_user_tables where schemaname = 'messaging' and relname = 'logs'`,
    )
    expect(updates).toEqual({ all: expect.toBeOneOf([count, count - 1]), in_place: updates?.all })
  })
})
