/**
 * Expired messages, before they are purged. Source: spec 6.8, 6.9, 7.4, 7.6, 7.7, 7.12, 9.4, 9.6.
 * services/messaging/test/operate/purge.test.ts has the purge.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Agent, HttpAnswer } from '../../support/client/agent.ts'
import { got, outcomeOf } from '../../support/client/answers.ts'
import { idsOf, type ListedMessage, readList } from '../../support/client/pages.ts'
import { eventually } from '../../support/eventually.ts'
import { type SharedHarness, shareHarness } from '../../support/system/harness.ts'

/** All messages must exist before the first of them expires. If creating them takes longer, they are created again with longer lives. */
const TTLS_SECONDS = [4, 8, 16]
let h: SharedHarness
let alice: Agent
let bob: Agent
let carol: Agent
let dave: Agent
/** Lives for one of `TTLS_SECONDS`, like the requests to dave. The others live for the retention. */
let short: ReturnType<Agent['envelope']>
let shortExpiresAt: number
let member: string
let long: ReturnType<Agent['envelope']>

beforeAll(async () => {
  h = await shareHarness('usual')
  for (const ttl of TTLS_SECONDS) {
    ;[alice, bob, carol, dave] = await h.agents(4)
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
afterAll(() => h[Symbol.asyncDispose]())

async function makeAll(ttl: number): Promise<void> {
  short = alice.envelope(bob, 'short', { ttl })
  long = alice.envelope(bob, 'long')
  await got(alice.post('/v2/messages', short))
  member = (await got(bob.send(alice, 'member', { thread_id: short.id }))).body.msg_id
  await got(alice.post('/v2/messages', long))
  // Two requests that are not answered in time.
  await got(alice.send(dave, 'request', { ttl }))
  await got(carol.send(dave, 'request', { ttl }))
  const single = (await got(bob.get(`/v2/messages/${short.id}`))).body
  const requests = await readList(dave, '/v2/inbox?lane=requests')
  shortExpiresAt = Math.max(...[single, ...requests].map((message) => message.expires_at))
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
