/**
 * The seam between a stream's history and its live events, under load, while everything between sender and receiver fails.
 * The test compares accepted ids with delivered ids: all are delivered, in order, and none twice. It sends direct messages
 * and posts, and each agent has two clients. `npx pnpm test` runs a short form, `npx pnpm test:faults` the long form.
 * Source: spec 9.3, 9.7.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Agent } from '../support/client/agent.ts'
import { got } from '../support/client/answers.ts'
import { newBoard, subscribe } from '../support/client/boards.ts'
import { type Follower, startFollower, untilCaughtUp } from '../support/client/follower.ts'
import { untilAnswered } from '../support/client/retrying.ts'
import { eventually } from '../support/eventually.ts'
import { startTcpProxy, type TcpProxy } from '../support/stand-ins/tcp-proxy.ts'
import { type Harness, startHarness } from '../support/system/harness.ts'

const IS_LONG = process.env.SVC_FAULTS === 'long'
const ROUNDS = IS_LONG ? 10 : 1
/** Messages of each sender that must be accepted before, during and after each fault. */
const SENT_BEFORE = IS_LONG ? 60 : 15
const SENT_AFTER = IS_LONG ? 60 : 15
/** Without this pause the load would use all CPU while processes restart, and other tests would time out. */
const PAUSE_MS = IS_LONG ? 0 : 40
const READERS = 3
const CAUGHT_UP_MS = 30_000
const ROUND_LIMIT_MS = 120_000

let h: Harness
let database: TcpProxy
let senders: Agent[]
let readers: Agent[]
let board: string
let followers: Follower[]
/** Ids that got a 200 or 202, by reader, in any order. */
const accepted = new Map<string, Set<string>>()

beforeAll(async () => {
  database = await startTcpProxy()
  const units = { SVC_DAILY_FREE_UNITS: '10000000', SVC_DAILY_HARD_LIMIT: '10000000', SVC_DAILY_INTRODUCTIONS: '1000' }
  h = await startHarness({
    replicas: { identity: 1, boards: 1, budget: 1, webhook: 1 },
    env: units,
    databaseUrl: (url) => database.through(url),
  })
  senders = await h.agents(2)
  readers = await h.agents(READERS)
  const [owner] = senders
  if (owner === undefined) throw new Error('there is a first sender')
  board = await newBoard(owner, { posting: 'anyone' })
  for (const reader of readers) {
    await got(reader.patch('/v2/me', { inbox_policy: 'open' }))
    await subscribe(reader, board)
    accepted.set(reader.id, new Set())
  }
  followers = readers.flatMap((reader) => [
    startFollower(reader, { urls: h.system.urls }),
    startFollower(reader, { urls: h.system.urls.toReversed() }),
  ])
})
afterAll(async () => {
  await Promise.all(followers?.map((follower) => follower.stop()) ?? [])
  await h?.[Symbol.asyncDispose]()
  await database?.[Symbol.asyncDispose]()
})

/** Sends until stopped. Retries each message until it is answered. Every third message is a post. */
function startLoad() {
  let stopped = false
  let sent = 0
  const urls = h.system.urls
  const loops = senders.flatMap((sender, index) =>
    readers.map(async (reader, at) => {
      for (let count = 0; !stopped; count += 1) {
        const isPost = count % 3 === 2
        const envelope = sender.envelope(isPost ? `board:${board}` : reader, 'x'.repeat((count * 97) % 3_000))
        const answer = await untilAnswered(() => {
          const url = urls[(index + at + count) % urls.length] ?? ''
          // a stopped gateway counts as one that does not answer
          return sender
            .post('/v2/messages', envelope, { url })
            .catch(() => ({ status: 503, headers: new Headers(), text: '', body: {} }))
        })
        if (answer.status !== 200 && answer.status !== 202) throw new Error(`${answer.status} ${answer.text}`)
        for (const one of isPost ? readers : [reader]) accepted.get(one.id)?.add(envelope.id)
        sent += 1
        await sleep(PAUSE_MS)
      }
    }),
  )
  const done = Promise.all(loops)
  done.catch(() => {}) // `stop` throws this error
  return {
    /** Waits until this many more messages are accepted. */
    async more(count: number) {
      const target = sent + count
      await Promise.race([
        done,
        eventually(() => sent >= target, { timeoutMs: 60_000, what: `${count} more messages` }),
      ])
    },
    async stop() {
      stopped = true
      await done
    },
  }
}

interface Logged {
  cursor: number
  message: { envelope: { id: string } }
}

/** The whole log of an agent, to compare with. */
async function logOf(agent: Agent): Promise<{ cursor: number; id: string }[]> {
  const log: { cursor: number; id: string }[] = []
  for (let after = 0; ; ) {
    const { body } = await eventually(() => got(agent.get(`/v2/events?limit=100&after=${after}`)), {
      timeoutMs: 20_000,
    })
    const events = body.events as Logged[]
    if (events.length === 0) return log
    log.push(...events.map(({ cursor, message }) => ({ cursor, id: message.envelope.id })))
    after = body.next_cursor
  }
}

/**
 * Checks that every accepted id is in the log once, that cursors have no gaps, and that every client got the whole log in
 * order, nothing twice.
 */
async function checkHistory(all: readonly Follower[]): Promise<void> {
  for (const reader of readers) {
    const log = await logOf(reader)
    expect(log.map(({ cursor }) => cursor)).toEqual(log.map((_, at) => at + 1))
    const ids = new Set(log.map(({ id }) => id))
    expect(ids.size).toBe(log.length)
    const missing = [...(accepted.get(reader.id) ?? [])].filter((id) => !ids.has(id))
    expect(missing).toEqual([])
    for (const follower of all.filter(({ agent }) => agent === reader)) {
      await untilCaughtUp(follower, log.length, CAUGHT_UP_MS)
      expect(follower.delivered).toEqual(log)
    }
  }
}

async function killAndStart(...names: string[]): Promise<void> {
  await Promise.all(names.map((name) => h.system.kill(name)))
  await Promise.all(names.map((name) => h.system.start(name)))
}

const FAULTS: Record<string, () => Promise<void>> = {
  'kill -9 of both stream processes': () => killAndStart('stream-1', 'stream-2'),
  'kill -9 of both messaging processes': () => killAndStart('messaging-1', 'messaging-2'),
  'kill -9 of a gateway': () => killAndStart('gateway-1'),
  'the data of NATS deleted': async () => {
    await h.system.nats.kill()
    await h.system.nats.restart({ wipe: true })
  },
  'Postgres gone and back': async () => {
    await database.cut()
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    await database.mend()
  },
  'SIGTERM of a stream process': async () => {
    expect((await h.system.processes.get('stream-2')?.stop())?.code).toBe(0)
    await h.system.start('stream-2')
  },
}

describe('no event is lost, repeated or out of order', () => {
  test.each(Object.keys(FAULTS))('under load, with %s', { timeout: ROUND_LIMIT_MS * ROUNDS }, async (name) => {
    const load = startLoad()
    for (let round = 0; round < ROUNDS; round += 1) {
      await load.more(SENT_BEFORE)
      await FAULTS[name]?.()
      await load.more(SENT_AFTER)
    }
    await load.stop()
    await checkHistory(followers)
    if (IS_LONG)
      console.log(`${name}: ${followers.reduce((sum, { delivered }) => sum + delivered.length, 0)} delivered`)
  })

  test('under load, for a slow client that reads a long history from its beginning', {
    timeout: ROUND_LIMIT_MS,
  }, async () => {
    // An agent may have two streams, so one of this reader's two clients leaves.
    const left = followers.pop()
    await left?.stop()
    const slow = startFollower(left?.agent as Agent, { urls: h.system.urls, readDelayMs: 25 })
    const load = startLoad()
    await load.more(SENT_BEFORE + SENT_AFTER)
    await load.stop()
    await checkHistory([...followers, slow])
    await slow.stop()
  })
})
