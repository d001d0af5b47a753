/** Expiry and purge. Source: spec 6.8, 6.9, 7.4, 7.6, 7.7, 7.12, 9.4, 9.6. */
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Agent, HttpAnswer } from '../../support/client/agent.ts'
import { got, outcomeOf } from '../../support/client/answers.ts'
import { idsOf, type ListedMessage, readList } from '../../support/client/pages.ts'
import { untilAnswered } from '../../support/client/retrying.ts'
import { eventually } from '../../support/eventually.ts'
import { type Harness, startHarness } from '../../support/system/harness.ts'
import { ONE_OF_EACH } from '../../support/system/system.ts'

const RETENTION_SECONDS = 30
/** All messages must exist before the first of them expires. If creating them takes longer, they are created again with longer lives. */
const TTLS_SECONDS = [4, 8, 16]
/** Longer than a partition's period, which is a sixth of the retention, plus the purge's interval of 5 s. */
const PURGE_LIMIT_MS = 30_000

let h: Harness
let admin: postgres.Sql
let alice: Agent
let bob: Agent
let carol: Agent
let dave: Agent
let erin: Agent
/** Lives for one of `TTLS_SECONDS`, like the requests to dave. The others live for `RETENTION_SECONDS`. */
let short: ReturnType<Agent['envelope']>
let shortExpiresAt: number
let member: string
/** An answered request, which has two entries in its log. It also has a short life. */
let promoted: string
let long: ReturnType<Agent['envelope']>
let longExpiresAt: number

beforeAll(async () => {
  h = await startHarness({
    replicas: { ...ONE_OF_EACH, messaging: 2, gateway: 2 },
    env: { SVC_RETENTION_DAYS: String(RETENTION_SECONDS / 86_400) },
  })
  admin = postgres(h.system.database.adminUrl, { max: 1, onnotice: () => {} })
  for (const ttl of TTLS_SECONDS) {
    ;[alice, bob, carol, dave, erin] = await h.agents(5)
    await Promise.all([alice, bob].map((agent) => got(agent.patch('/v2/me', { inbox_policy: 'open' }))))
    // `expires_at` is a whole second, so the message may expire up to a second early.
    const overMs = Date.now() + (ttl - 1) * 1000
    const isOver = (): boolean => Date.now() >= overMs
    try {
      await makeAll(ttl)
    } catch (error) {
      if (!isOver()) throw error
    }
    if (!isOver()) return
  }
  throw new Error('everything had expired before the setup was complete')
})
afterAll(async () => {
  await admin?.end()
  await h?.[Symbol.asyncDispose]()
})

async function makeAll(ttl: number): Promise<void> {
  short = alice.envelope(bob, 'short', { ttl })
  long = alice.envelope(bob, 'long')
  await got(alice.post('/v2/messages', short))
  member = (await got(bob.send(alice, 'member', { thread_id: short.id }))).body.msg_id
  await got(alice.post('/v2/messages', long))
  // Two requests that are not answered in time.
  await got(alice.send(dave, 'request', { ttl }))
  await got(carol.send(dave, 'request', { ttl }))
  promoted = (await got(dave.send(erin, 'request', { ttl }))).body.msg_id
  await got(erin.put(`/v2/contacts/${dave.id}`, { state: 'accepted' }))
  const single = (await got(bob.get(`/v2/messages/${short.id}`))).body
  const requests = await readList(dave, '/v2/inbox?lane=requests')
  shortExpiresAt = Math.max(...[single, ...requests].map((message) => message.expires_at))
  const { created_at, expires_at } = (await got(bob.get(`/v2/messages/${long.id}`))).body
  expect(expires_at).toBe(created_at + RETENTION_SECONDS)
  longExpiresAt = expires_at
  const shown = [await bob.get('/v2/inbox'), await alice.get('/v2/export'), await bob.get('/v2/events')]
  expect(shown.map(({ text }) => text.includes('"short"'))).toEqual([true, true, true])
}

describe('spec 6.8: expired messages are excluded from reads at once', () => {
  // All requests are made right after the expiry, before a purge can run.
  let single: HttpAnswer[]
  let lists: Record<string, readonly ListedMessage[]>
  let threads: ListedMessage[][]
  let events: HttpAnswer
  let limited: HttpAnswer
  let eventsOfDave: HttpAnswer
  let references: HttpAnswer[]
  let secondRequest: HttpAnswer
  let thirdRequest: HttpAnswer
  let retries: HttpAnswer[]
  let eventsAfterAccepting: HttpAnswer

  beforeAll(async () => {
    await eventually(() => Date.now() >= shortExpiresAt * 1000)

    const paths = ['/v2/inbox', '/v2/inbox?unacked=true', '/v2/export']
    const [listed, ...answers] = await Promise.all([
      Promise.all(
        paths.map(async (path) => [path, [...(await readList(bob, path)), ...(await readList(alice, path))]] as const),
      ),
      Promise.all(
        [alice, bob].flatMap((agent) => [
          agent.get(`/v2/messages/${short.id}`),
          agent.get(`/v2/messages/${short.id}/receipts`),
          agent.post(`/v2/messages/${short.id}/ack`),
        ]),
      ),
      Promise.all([
        readList(alice, `/v2/inbox?thread_id=${short.id}`),
        readList(bob, `/v2/inbox?thread_id=${short.id}`),
        readList(alice, `/v2/export?thread_id=${short.id}`),
        readList(bob, `/v2/export?thread_id=${short.id}`),
      ]),
      bob.get('/v2/events'),
      bob.get('/v2/events?limit=1'),
      dave.get('/v2/events'),
      Promise.all([
        alice.send(bob, 'late', { reply_to: short.id }),
        alice.send(bob, 'late', { thread_id: short.id }),
        alice.send(bob, 'late', { reply_to: long.id }),
        alice.send(bob, 'late', { thread_id: long.id }),
      ]),
      Promise.all([alice.post('/v2/messages', short), alice.post('/v2/messages', { ...short, type: 'event' })]),
      got(dave.put(`/v2/contacts/${carol.id}`, { state: 'accepted' })),
    ])
    lists = Object.fromEntries(listed)
    ;[single, threads, events, limited, eventsOfDave, references, retries] = answers
    eventsAfterAccepting = await dave.get('/v2/events')
    secondRequest = await alice.send(dave, 'again')
    thirdRequest = await alice.send(dave, 'and again')
  })

  test('neither participant finds it by an operation on a single message', () => {
    expect(single.map(outcomeOf)).toEqual(single.map(() => '404 not_found'))
  })

  test('it is in no list', () => {
    for (const messages of Object.values(lists)) {
      expect(idsOf(messages)).toContain(long.id)
      expect(idsOf(messages)).not.toContain(short.id)
    }
  })

  test('spec 7.12: live members of a thread stay listed', () => {
    expect(threads.map(idsOf)).toEqual([[member], [], [member], [member]])
  })

  test('spec 9.4, 9.6: its event is skipped', () => {
    expect(events.body.events[0].cursor).toBe(2)
    expect(limited.body).toMatchObject({ events: [{ cursor: 2 }], next_cursor: 2 })
    expect(events.headers.get('x-svc-earliest-cursor')).toBe('2')
  })

  test('spec 9.4, 9.6: if all have expired, next_cursor is after them, and they are not examined again', () => {
    expect(eventsOfDave.body).toMatchObject({ events: [], next_cursor: 2 })
    expect(eventsOfDave.headers.get('x-svc-earliest-cursor')).toBe('3')
    expect(eventsOfDave.headers.get('x-svc-latest-cursor')).toBe('2')
  })

  test('spec 6.9: nothing can refer to it', () => {
    expect(references.map(outcomeOf)).toEqual(['400 invalid_reference', '400 invalid_reference', '202', '202'])
  })

  test('spec 7.7: an expired request is not promoted', async () => {
    expect(eventsAfterAccepting.body).toMatchObject({ events: [], next_cursor: 2 })
    expect(await readList(dave, '/v2/inbox')).toEqual([])
  })

  test('spec 7.6: an expired request is not pending', async () => {
    expect(secondRequest).toMatchObject({ status: 202, body: { lane: 'requests', duplicate: false } })
    expect(outcomeOf(thirdRequest)).toBe('409 request_pending')
    const { body } = await got(dave.get('/v2/events'))
    expect(body.events.map(({ cursor, kind }: { cursor: number; kind: string }) => [cursor, kind])).toEqual([
      [3, 'requests'],
    ])
  })

  test('spec 7.4: its id stays taken', () => {
    expect(retries[0]).toMatchObject({ status: 200, body: { duplicate: true, lane: 'inbox' } })
    expect(outcomeOf(retries[1] as HttpAnswer)).toBe('409 id_conflict')
  })
})

describe('spec 7.4: the id of a purged message stays taken', () => {
  test('during the purge and afterwards, an identical retry is 200 and everything else is 409', async () => {
    const outcomes: string[][] = []
    await eventually(
      async () => {
        // The answer to a retry never changes, even during the purge.
        const answers = await Promise.all(
          [short, { ...short, body: 'other' }].map((envelope) =>
            untilAnswered(() => alice.post('/v2/messages', envelope)),
          ),
        )
        outcomes.push(answers.map(outcomeOf))
        return (await rowsOf(short.id)).messages === 0
      },
      { timeoutMs: PURGE_LIMIT_MS, what: 'the purge' },
    )
    expect(outcomes).toEqual(outcomes.map(() => ['200', '409 id_conflict']))
    expect(await rowsOf(short.id)).toEqual({ messages: 0, entries: 0, taken: 1 })
    for (const url of h.system.urls) {
      const answer = await alice.post('/v2/messages', short, { url })
      expect(answer).toMatchObject({ status: 200, body: { msg_id: short.id, lane: 'inbox', duplicate: true } })
      expect(outcomeOf(await bob.send(bob, 'other', { id: short.id }))).toBe('409 id_conflict')
    }
    expect(outcomeOf(await bob.get(`/v2/messages/${short.id}`))).toBe('404 not_found')
  })

  test('both entries of a promoted request are removed', async () => {
    await eventually(async () => expect(await rowsOf(promoted)).toEqual({ messages: 0, entries: 0, taken: 1 }), {
      timeoutMs: PURGE_LIMIT_MS,
    })
    const { body, headers } = await got(erin.get('/v2/events'))
    expect(body).toMatchObject({ events: [], next_cursor: 2 })
    expect(headers.get('x-svc-earliest-cursor')).toBe('3')
  })

  test('positions of purged messages are not reused, and the earliest cursor moves', async () => {
    await eventually(async () => (await rowsOf(long.id)).messages === 0, {
      timeoutMs: Math.max(0, longExpiresAt * 1000 - Date.now()) + PURGE_LIMIT_MS,
      what: 'the purge',
    })
    const before = await got(bob.get('/v2/events'))
    const { msg_id } = (await got(alice.send(bob, 'new'))).body
    const after = await got(bob.get(`/v2/events?after=${before.body.next_cursor}`))
    expect(
      after.body.events.map(({ message }: { message: { envelope: { id: string } } }) => message.envelope.id),
    ).toEqual([msg_id])
    expect(after.body.next_cursor).toBe(before.body.next_cursor + 1)
    expect(Number(after.headers.get('x-svc-earliest-cursor'))).toBeGreaterThan(2)
    // spec 9.6: reading from a cursor that is older than the retention returns the rest. The next event may expire at any
    // moment.
    const remaining = await got(bob.get('/v2/events?after=1'))
    expect(remaining.body.events[0].cursor).toBe(Number(remaining.headers.get('x-svc-earliest-cursor')))
  }, 90_000)
})

async function rowsOf(id: string): Promise<{ messages: number; entries: number; taken: number }> {
  const [row] = await admin<{ messages: number; entries: number; taken: number }[]>`
    select
      (select count(*)::int from messaging.messages where id = ${id}) as messages,
      (select count(*)::int from messaging.entries where message = messaging.place_of(${id})) as entries,
      (select count(*)::int from messaging.ids where place >> 2 = messaging.place_of(${id})) as taken`
  if (row === undefined) throw new Error('the query always returns a row')
  return row
}
