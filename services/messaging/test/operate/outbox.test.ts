import { randomBytes } from 'node:crypto'
import { acceptedMessageId } from '@svc/contracts/accepted.ts'
import { messageOperation } from '@svc/contracts/message-operation.ts'
import { connectNats, drainNats } from '@svc/nats/connect.ts'
import { type Publication, StreamPublisher } from '@svc/nats/streams/stream-publisher.ts'
import { acceptedStream } from '@svc/nats/streams/streams.ts'
import { type Database, openDatabase, type Sql } from '@svc/postgres/database.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { borrowDatabase } from '@svc/test/support/engines/database.ts'
import { startTestNats } from '@svc/test/support/engines/engines.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { readAccepted } from '@svc/test/support/system/accepted.ts'
import { expect, test } from 'vitest'
import { createPublisher } from '../../src/outbox/publisher.ts'
import { markPublished, oldestUnpublishedSeconds, rowOf, rowOfPosts } from '../../src/store/outbox.ts'
import { createAppend } from '../../src/store/send/append.ts'
import { createAppendPosts } from '../../src/store/send/append-posts.ts'

const logger = createLogger('test', 'silent')

/** @param on The stream to use instead of the real one. */
async function startHarness(on?: StreamPublisher) {
  const stack = new AsyncDisposableStack()
  const testDatabase = stack.use(await borrowDatabase())
  const server = stack.use(await startTestNats())
  const database = stack.use(openDatabase({ url: testDatabase.urlFor('messaging'), application: 'test', logger }))
  const connect = async () =>
    stack.adopt(await connectNats({ url: server.urlFor('messaging'), name: 'test', logger }), (nats) => drainNats(nats))
  const nats = await connect()
  const publisherOn = async (on: typeof nats) =>
    createPublisher({ database, stream: await StreamPublisher.open(on, acceptedStream(1)), logger })
  const publisher = on === undefined ? await publisherOn(nats) : createPublisher({ database, stream: on, logger })
  const appendWith = (publish: boolean, leaseSeconds: number) =>
    createAppend({
      database,
      retentionSeconds: 3_600,
      leaseSeconds,
      onCommitted: (id, entries) => {
        if (publish) publisher.publishCommitted(rowOf(id, entries, Date.now()))
      },
    })
  const postWith = (publish: boolean, leaseSeconds: number) =>
    createAppendPosts({
      database,
      retentionSeconds: 3_600,
      leaseSeconds,
      onCommitted: (id, posts) => {
        if (publish) publisher.publishCommitted(rowOfPosts(id, posts, Date.now()))
      },
    })
  return {
    server,
    publisher,
    database,
    openStream: async () => StreamPublisher.open(await connect(), acceptedStream(1)),
    /** Another process, which has published nothing yet. */
    startOther: async () => publisherOn(await connect()),
    appendAndPublish: appendWith(true, 5),
    /** A process that dies between its commit and its publication. */
    appendAndDie: appendWith(false, 0),
    postAndPublish: postWith(true, 5),
    postAndDie: postWith(false, 0),
    /** Runs passes like the loop, and repeats a failed pass. True when nothing is left. */
    pass: async () => {
      try {
        await publisher.requeueForgotten()
        await publisher.publishLeft()
      } catch {
        return false
      }
      const [row] = await database.run(
        (sql) =>
          sql<{ left: boolean }[]>`select exists (select from messaging.outbox where published_at is null) as left`,
      )
      return row?.left === false
    },
    /** Makes the publisher's lease expire. */
    forgetLeases: () =>
      database.run((sql) => sql`update messaging.outbox set leased_until = '-infinity' where published_at is null`),
    /** Makes every row due again, as if its publisher had died between the publication and the mark. */
    forgetMarks: () =>
      database.run(
        (sql) => sql`
          update messaging.outbox
          set published_at = null, epoch = null, last_sequence = null, leased_until = '-infinity'`,
      ),
    unpublished: async () => {
      const [row] = await database.run(
        (sql) => sql<{ count: number }[]>`select count(*) as count from messaging.outbox where published_at is null`,
      )
      return row?.count
    },
    oldest: () => database.run(oldestUnpublishedSeconds),
    /** The messages of the stream, oldest first. */
    stored: async () => {
      const all = await readAccepted(server)
      return all.map(({ subject, messageId: id, payload }) => {
        const event: { cursor: number; kind: string } = JSON.parse(payload)
        return { subject, id, event }
      })
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

function message(recipient: string) {
  const id = randomBytes(12).toString('base64url')
  const digest = randomBytes(32).toString('hex')
  return {
    id,
    digest,
    sender: 'alice',
    recipient,
    lane: 'inbox' as const,
    threadId: null,
    envelope: `{"id":"${id}"}`,
    expiryCap: null,
    policy: 'requests' as const,
    contact: 'none' as const,
    standingVersion: 0,
    operation: messageOperation(id, digest),
    deadlineMs: Date.now() + 60_000,
  }
}

const idsOf = (log: string, count: number) => Array.from({ length: count }, (_, at) => acceptedMessageId(log, at + 1))

test('ADR 20: the committer publishes each entry once, whole, in the order of its log', async () => {
  await using h = await startHarness()
  const sent = Array.from({ length: 40 }, () => message('bob'))
  await Promise.all(sent.map((each) => h.appendAndPublish(each)))
  await eventually(async () => (await h.unpublished()) === 0)
  const stored = await h.stored()
  expect(stored.map((each) => each.id)).toEqual(idsOf('bob', 40))
  expect(new Set(stored.map((each) => each.subject))).toEqual(new Set(['accepted.bob.inbox']))
  expect(stored[0]?.event).toEqual({
    cursor: 1,
    kind: 'inbox',
    message: {
      envelope: { id: sent[0]?.id },
      lane: 'inbox',
      created_at: expect.any(Number),
      expires_at: expect.any(Number),
      acked: false,
      upvotes: 0,
    },
  })
})

test('ADR 20: events that a dead committer left are published once, by any other process', async () => {
  await using h = await startHarness()
  await Promise.all(Array.from({ length: 5 }, () => h.appendAndDie(message('bob'))))
  const other = await h.startOther()
  await Promise.all([h.publisher.publishLeft(), other.publishLeft()])
  expect(await h.unpublished()).toBe(0)
  expect((await h.stored()).map((each) => each.id).sort()).toEqual(idsOf('bob', 5).sort())
})

const BOARD = 'b'.repeat(24)

function post(subscribers: string[]) {
  const { recipient: _, lane: __, standingVersion: ___, ...rest } = message('nobody')
  return { ...rest, boardId: BOARD, subscribers, envelope: JSON.stringify({ id: rest.id, body: 'x'.repeat(32_000) }) }
}

test.each(['postAndPublish', 'postAndDie'] as const)(
  'a post travels as a reference, once for each subscriber, and in the order of their logs: %s',
  async (how) => {
    await using h = await startHarness()
    const subscribers = Array.from({ length: 100 }, (_, index) => `agent-${index}`)
    const posts = Array.from({ length: 12 }, () => post(subscribers))
    for (const each of posts) await h[how](each)
    await h[how](post([]))
    await eventually(async () => (how === 'postAndPublish' ? (await h.unpublished()) === 0 : h.pass()))
    const stored = await h.stored()
    expect(stored).toHaveLength(1_200)
    for (const agent of ['agent-0', 'agent-99']) {
      expect(stored.filter(({ subject }) => subject === `accepted.${agent}.board`)).toEqual(
        posts.map(({ id }, index) => ({
          subject: `accepted.${agent}.board`,
          id: acceptedMessageId(agent, index + 1),
          event: { cursor: index + 1, kind: 'board', post: { id, board_id: BOARD } },
        })),
      )
    }
  },
)

test('ADR 20: an event that was published but not marked is not stored twice', async () => {
  await using h = await startHarness()
  await h.appendAndPublish(message('bob'))
  await eventually(async () => (await h.unpublished()) === 0)
  await h.appendAndDie(message('bob'))
  await h.publisher.publishLeft()
  await h.forgetMarks()
  expect(await h.unpublished()).toBe(2)
  await h.publisher.publishLeft()
  expect(await h.unpublished()).toBe(0)
  expect((await h.stored()).map((each) => each.id)).toEqual(idsOf('bob', 2))
})

test('ADR 20: when NATS has lost all of its data, everything acknowledged is published again', async () => {
  await using h = await startHarness()
  await Promise.all(Array.from({ length: 10 }, () => h.appendAndPublish(message('bob'))))
  await eventually(() => h.pass())
  await h.server.restart({ wipe: true })
  // Messages accepted meanwhile do not hide the gap.
  await h.appendAndPublish(message('bob'))
  await eventually(() => h.pass())
  expect((await h.stored()).map((each) => each.id).sort()).toEqual(idsOf('bob', 11).sort())
})

test('ADR 20: events that are published during a comparison do not count as lost', async () => {
  await using h = await startHarness()
  await h.appendAndPublish(message('bob'))
  await eventually(async () => (await h.unpublished()) === 0)
  const stream = await h.openStream()
  const answered = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  const slow = {
    watchDisconnects: (changed: () => void) => stream.watchDisconnects(changed),
    state: async () => {
      const state = await stream.state()
      answered.resolve()
      await held.promise
      return state
    },
  } as unknown as StreamPublisher
  const comparing = createPublisher({ database: h.database, stream: slow, logger }).requeueForgotten()
  await answered.promise
  await h.appendAndPublish(message('bob'))
  await eventually(async () => (await h.unpublished()) === 0)
  held.resolve()
  await comparing
  expect(await h.unpublished()).toBe(0)
})

test('ADR 20: while NATS is down messages are accepted, and they are published when it is back', async () => {
  await using h = await startHarness()
  await h.publisher.requeueForgotten()
  await h.server.kill()
  expect((await h.appendAndPublish(message('bob'))).outcome).toBe('accepted')
  await h.server.restart()
  await h.appendAndDie(message('bob'))
  await eventually(() => h.pass())
  expect((await h.stored()).map((each) => each.id).sort()).toEqual(idsOf('bob', 2))
})

test('ADR 20: processes that publish at the same time do not disturb each other', async () => {
  await using h = await startHarness()
  const publishers = await Promise.all([h.openStream(), h.openStream()])
  await publishers[0]?.state()
  for (let round = 0; round < 10; round += 1) {
    const batches = publishers.map((_, at) =>
      Array.from({ length: 200 }, (_, index) => ({
        subject: `accepted.agent-${at}.inbox`,
        messageId: acceptedMessageId(`agent-${at}`, round * 200 + index + 1),
        text: 'x'.repeat(1_500),
      })),
    )
    await Promise.all(publishers.map((publisher, at) => publisher.publish(batches[at] ?? [])))
  }
  expect((await publishers[0]?.state())?.lastSequence).toBe(2 * 10 * 200)
})

test('the age of the oldest unpublished event is a number, and 0 if all are published', async () => {
  await using h = await startHarness()
  const age = () => h.oldest()
  expect(await age()).toBe(0)
  await h.appendAndDie(message('bob'))
  await eventually(async () => (await age()) > 0.05)
  await eventually(async () => {
    await h.publisher.publishLeft()
    return (await age()) === 0
  })
})

/** A stream that can lose its newest messages, or all, while its publishers stay connected, as in a cluster. */
function createForgetfulStream() {
  const stored: string[] = []
  const forget = { events: 0, fails: false }
  const known = { epoch: 'epoch', disconnect: () => {} }
  const stream = {
    watchDisconnects: async (onDisconnect: () => void) => {
      known.disconnect = onDisconnect
    },
    state: async () => ({ epoch: known.epoch, lastSequence: stored.length }),
    publish: async (publications: Publication[]) => {
      stored.splice(stored.length - forget.events)
      const { fails } = forget
      Object.assign(forget, { events: 0, fails: false })
      if (fails) throw new Error('no acknowledgement from JetStream in time')
      const fresh = publications.filter(({ messageId }) => !stored.includes(messageId))
      stored.push(...fresh.map(({ messageId }) => messageId))
      return { lastSequence: stored.length, isNew: fresh.length > 0 }
    },
  } as unknown as StreamPublisher
  return { stream, stored, forget, known }
}

test('ADR 20: publishing a day of lost events again does not delay new ones', async () => {
  const { stream, stored, forget, known } = createForgetfulStream()
  await using h = await startHarness(stream)
  for (let sent = 0; sent < 3; sent += 1) await h.appendAndPublish(message('bob'))
  await eventually(() => h.pass())
  const rows = 2_500
  await h.database.run(
    (sql) => sql`
      insert into messaging.outbox (logs, kinds, positions, places, leased_until, published_at, epoch, last_sequence)
      select array['gone'], array['inbox'], array[n], array[n], clock_timestamp(), clock_timestamp(), 'epoch', n
      from generate_series(1, ${rows}::bigint) n`,
  )
  stored.push(...Array.from({ length: rows }, (_, at) => `gone-${at}`))
  await h.publisher.requeueForgotten()
  // Another stream has taken its place.
  Object.assign(forget, { events: stored.length, fails: true })
  known.epoch = 'other epoch'
  await h.appendAndPublish(message('bob'))
  await eventually(() => forget.events === 0)
  await h.appendAndPublish(message('bob'))
  const isMarked = async () => {
    const marked = await h.database.run(
      (sql) => sql<{ positions: number[] }[]>`select positions from messaging.outbox where epoch = 'other epoch'`,
    )
    return marked.flatMap(({ positions }) => positions).includes(5)
  }
  await eventually(isMarked)
  expect(await h.unpublished()).toBeLessThan(rows)
  await eventually(() => h.pass())
  expect(stored.toSorted()).toEqual(idsOf('bob', 5).toSorted())
})

test.each([
  ['the next publication fails', true],
  ['the next publication covers the gap', false],
])('ADR 20: a tail that the stream lost without a disconnection is published again: %s', async (_name, fails) => {
  const { stream, stored, forget } = createForgetfulStream()
  await using h = await startHarness(stream)
  for (let sent = 0; sent < 10; sent += 1) await h.appendAndPublish(message('bob'))
  await eventually(() => h.pass())
  Object.assign(forget, { events: 5, fails })
  for (let sent = 0; sent < 10; sent += 1) await h.appendAndPublish(message('bob'))
  await eventually(() => forget.events === 0) // by a committer, which knows how many of its events are new
  // The committer requeues the rows of the gap after its publication, and leaves them to the loop.
  await eventually(async () => {
    await h.forgetLeases()
    return (await h.pass()) && stored.length >= 20
  })
  expect(stored.toSorted()).toEqual(idsOf('bob', 20).toSorted())
})

test('ADR 31: an event that the stream loses before its row is marked is published again', async () => {
  const { stream, stored, known } = createForgetfulStream()
  await using h = await startHarness(stream)
  await h.appendAndPublish(message('bob'))
  await eventually(() => stored.length === 1)
  // The server goes, loses the event, and comes back. Another process gets the sequence of the lost event, and a comparison
  // finds no marked row that the stream lacks.
  known.disconnect()
  stored.splice(0, 1, 'another')
  await h.publisher.requeueForgotten()
  // When a later row is marked, the first row has had its turn.
  await h.appendAndPublish(message('bob'))
  await eventually(async () => ((await h.unpublished()) ?? 2) < 2)
  await eventually(async () => {
    await h.forgetLeases()
    return h.pass()
  })
  expect(stored.toSorted()).toEqual(['another', ...idsOf('bob', 2)].toSorted())
})

test('ADR 31: an event that the stream loses while its row is marked is published again', async () => {
  const { stream, stored, known } = createForgetfulStream()
  await using h = await startHarness(stream)
  const [marking, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let isHeld = false
  const holdingStream = {
    ...stream,
    publish: async (publications: Publication[]) => {
      const published = await stream.publish(publications)
      isHeld = true
      return published
    },
  } as unknown as StreamPublisher
  const holdingDatabase: Database = Object.assign(Object.create(h.database), {
    run: async <T>(work: (sql: Sql) => Promise<T>): Promise<T> => {
      if (isHeld) {
        isHeld = false
        marking.resolve()
        await released.promise
      }
      return h.database.run(work)
    },
  })
  const publisher = createPublisher({ database: holdingDatabase, stream: holdingStream, logger })
  await h.appendAndDie(message('bob'))
  const publishing = publisher.publishLeft()
  await marking.promise
  known.disconnect()
  stored.splice(0, 1, 'another')
  released.resolve()
  await expect(publishing).rejects.toThrow('may have lost')
  await eventually(() => h.pass())
  expect(stored).toEqual(['another', ...idsOf('bob', 1)])
})

test('ADR 31: a process that marks a row late does not lower the sequence that another one marked', async () => {
  const { stream } = createForgetfulStream()
  await using h = await startHarness(stream)
  await h.appendAndDie(message('bob'))
  const mark = (epoch: string, lastSequence: number) =>
    h.database.run(async (sql) => {
      await markPublished(sql, [{ id: 1, epoch, lastSequence }])
      const [row] = await sql<{ last_sequence: number }[]>`select last_sequence from messaging.outbox where id = 1`
      return row?.last_sequence
    })
  expect(await mark('epoch', 12)).toBe(12)
  expect(await mark('epoch', 10)).toBe(12)
  expect(await mark('other epoch', 3)).toBe(3)
})

test('ADR 20: a comparison that began before a publication does not hide what the stream loses after it', async () => {
  const { stream, stored, forget } = createForgetfulStream()
  await using h = await startHarness(stream)
  const compareGate = Promise.withResolvers<void>()
  const markGate = Promise.withResolvers<void>()
  const marking = Promise.withResolvers<void>()
  const hold = { state: false, mark: false }
  const slowStream = {
    ...stream,
    state: async () => {
      const state = await stream.state()
      if (hold.state) await compareGate.promise
      return state
    },
    publish: async (publications: Publication[]) => {
      const published = await stream.publish(publications)
      if (hold.state) hold.mark = true
      return published
    },
  } as unknown as StreamPublisher
  const slowDatabase: Database = Object.assign(Object.create(h.database), {
    run: async <T>(work: (sql: Sql) => Promise<T>): Promise<T> => {
      if (hold.mark) {
        Object.assign(hold, { state: false, mark: false })
        marking.resolve()
        await markGate.promise
      }
      return h.database.run(work)
    },
  })
  const publisher = createPublisher({ database: slowDatabase, stream: slowStream, logger })
  const publishLeft = () =>
    eventually(async () => {
      await publisher.publishLeft().catch(() => {})
      return (await h.unpublished()) === 0
    })
  await h.appendAndDie(message('bob'))
  await publishLeft()

  // The comparison reads the state before an event is published, and ends before the event's row is marked.
  hold.state = true
  const comparing = publisher.requeueForgotten()
  await h.appendAndDie(message('bob'))
  const publishing = publisher.publishLeft()
  await marking.promise
  compareGate.resolve()
  await comparing
  markGate.resolve()
  await publishing

  forget.events = 1
  await h.appendAndDie(message('bob'))
  await publishLeft()
  expect(stored.toSorted()).toEqual(idsOf('bob', 3).toSorted())
})
