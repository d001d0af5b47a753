/** GET /v2/inbox and GET /v2/export. Source: spec 3.10, 3.12, 7.9, 7.11, 7.12, 7.15, 11.7. */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Agent } from '../../support/client/agent.ts'
import { got, outcomeOf } from '../../support/client/answers.ts'
import { idsOf, type ListedMessage, readList, readPages } from '../../support/client/pages.ts'
import { type SharedHarness, shareHarness } from '../../support/system/harness.ts'

let h: SharedHarness
let reader: Agent
let friend: Agent
/** The messages that the reader sent and received, in the order of acceptance. */
let all: { id: string; lane: string; acked: boolean; threadId: string | undefined; received: boolean }[]
let root: string

const PAGE_BYTES = 512 * 1024

beforeAll(async () => {
  h = await shareHarness('roomy')
  ;[reader, friend] = await h.agents(2)
  const strangers = await h.agents(6)
  await got(reader.put(`/v2/contacts/${friend.id}`, { state: 'accepted' }))
  await got(friend.patch('/v2/me', { inbox_policy: 'open' }))
  all = []
  root = ''
  const send = async (from: Agent, to: Agent, threadId?: string): Promise<void> => {
    const { msg_id: id, lane } = (
      await got(from.send(to, all.length, threadId === undefined ? {} : { thread_id: threadId }))
    ).body
    all.push({ id, lane, acked: false, threadId, received: to === reader })
  }
  for (let at = 0; at < 60; at += 1) {
    if (at === 3) root = all.at(-1)?.id ?? ''
    await send(friend, reader, at > 3 && at % 5 === 0 ? root : undefined)
    if (at % 10 === 0) await send(reader, friend)
    if (at % 12 === 0) await send(reader, reader)
    const stranger = at % 10 === 7 ? strangers.pop() : undefined
    if (stranger !== undefined) await send(stranger, reader)
  }
  for (const [at, message] of all.entries()) {
    if (!message.received || at % 3 !== 0) continue
    await got(reader.post(`/v2/messages/${message.id}/ack`))
    message.acked = true
  }
})
afterAll(() => h[Symbol.asyncDispose]())

describe('spec 7.9: message lists are in order of arrival, oldest first, in pages', () => {
  const filters: [string, (message: (typeof all)[number]) => boolean][] = [
    ['/v2/inbox', ({ received, lane }) => received && lane === 'inbox'],
    ['/v2/inbox?lane=inbox', ({ received, lane }) => received && lane === 'inbox'],
    ['/v2/inbox?lane=requests', ({ received, lane }) => received && lane === 'requests'],
    ['/v2/inbox?unacked=true', ({ received, lane, acked }) => received && lane === 'inbox' && !acked],
    ['/v2/inbox?unacked=false', ({ received, lane }) => received && lane === 'inbox'],
    ['/v2/inbox?lane=requests&unacked=true', ({ received, lane, acked }) => received && lane === 'requests' && !acked],
    ['/v2/inbox?thread_id=ROOT', (message) => message.received && inThread(message)],
    ['/v2/inbox?thread_id=ROOT&unacked=true', (message) => message.received && inThread(message) && !message.acked],
    ['/v2/export', () => true],
    ['/v2/export?thread_id=ROOT', (message) => inThread(message)],
  ]
  const rows = filters.flatMap(([path, belongs]) => [7, 100].map((limit) => ({ path, belongs, limit })))
  test.each(rows)('$path, limit $limit', async ({ path, belongs, limit }) => {
    const expected = all.filter(belongs).map(({ id }) => id)
    expect(expected.length).toBeGreaterThan(1)
    const query = `${path.replace('ROOT', root)}${path.includes('?') ? '&' : '?'}limit=${limit}`
    const pages = await readPages(reader, query)
    expect(pages.flatMap(({ body }) => idsOf(body.messages))).toEqual(expected)
    const sizes = pages.map(({ body }) => body.messages.length)
    expect(sizes).toEqual(expected.length <= limit ? [expected.length] : fullPages(expected.length, limit))
  })

  test('spec 11.7: a page has 50 messages by default', async () => {
    for (const list of ['inbox', 'export']) {
      const { body } = await got(reader.get(`/v2/${list}`))
      expect(Object.keys(body)).toEqual(['messages', 'next_cursor'])
      expect(body.messages).toHaveLength(50)
      expect(body.next_cursor).not.toBe('')
    }
  })

  test('different pages may come from different gateways', async () => {
    const [first = '', second = ''] = h.system.urls
    const { body } = await reader.get('/v2/inbox?limit=10', { url: first })
    const next = await reader.get(`/v2/inbox?limit=10&after=${body.next_cursor}`, { url: second })
    const expected = all.filter(({ received, lane }) => received && lane === 'inbox').slice(10, 20)
    expect(idsOf(next.body.messages)).toEqual(expected.map(({ id }) => id))
  })

  test('each message is the same as in a single read', async () => {
    const listed = [
      ...(await readList(reader, '/v2/inbox')).slice(0, 5),
      ...(await readList(reader, '/v2/export')).slice(0, 5),
    ]
    for (const message of listed) {
      const single = (await got(reader.get(`/v2/messages/${message.envelope.id}`))).body
      expect(message).toStrictEqual(single)
      expect(Object.keys(message).toSorted()).toEqual(
        ['envelope', 'lane', 'created_at', 'expires_at', 'acked', 'upvotes'].toSorted(),
      )
      expect(message.upvotes).toBe(0)
    }
  })

  test('acknowledging messages between two pages of unacked=true leaves no gap', async () => {
    const [alice, bob] = await h.agents(2)
    await got(bob.put(`/v2/contacts/${alice.id}`, { state: 'accepted' }))
    const ids: string[] = []
    for (let at = 0; at < 6; at += 1) ids.push((await got(alice.send(bob, at))).body.msg_id)
    const { body } = await got(bob.get('/v2/inbox?unacked=true&limit=2'))
    for (const id of ids.slice(0, 2)) await got(bob.post(`/v2/messages/${id}/ack`))
    expect(await readList(bob, `/v2/inbox?unacked=true&after=${body.next_cursor}`).then(idsOf)).toEqual(ids.slice(2))
  })

  function inThread({ id, threadId }: (typeof all)[number]): boolean {
    return id === root || threadId === root
  }
})

describe('spec 7.11, 7.15: whose messages each list has', () => {
  test('export has sent and received messages, and each message to oneself once', async () => {
    const mine = await readList(reader, '/v2/export')
    expect(new Set(idsOf(mine)).size).toBe(mine.length)
    const participants = ({ envelope: { from, to } }: ListedMessage): string[] => [from, to]
    for (const message of mine) {
      expect([reader.id, reader.address].some((self) => participants(message).includes(self))).toBe(true)
    }
    const toThemselves = mine.filter(({ envelope }) => envelope.from === reader.id && envelope.to === reader.address)
    expect(toThemselves).toHaveLength(5)
  })

  test('an agent that has only sent has an empty inbox, and an empty list has an empty next_cursor', async () => {
    const [alice] = await h.agents(1)
    await got(alice.send(friend))
    expect((await alice.get('/v2/inbox')).body).toStrictEqual({ messages: [], next_cursor: '' })
    expect((await alice.get('/v2/inbox?lane=requests')).body).toStrictEqual({ messages: [], next_cursor: '' })
    expect(await readList(alice, '/v2/export')).toHaveLength(1)
  })
})

// services/gateway/src/http/query.test.ts has every form of a value.
describe('spec 3.12, 11.7: query parameters', () => {
  const rows: [string, string][] = [
    ['limit=0', '400 invalid_request'],
    ['limit=101', '400 invalid_request'],
    ['limit=5&limit=5', '400 invalid_request'],
    ['offset=1', '400 invalid_request'],
  ]
  const ofInbox: [string, string][] = [
    ['lane=board', '400 invalid_request'],
    ['unacked=1', '400 invalid_request'],
  ]
  const ofExport: [string, string][] = [
    ['lane=inbox', '400 invalid_request'],
    ['unacked=true', '400 invalid_request'],
  ]
  test.each([...rows, ...ofInbox])('inbox?%s: %s', async (query, outcome) => {
    expect(outcomeOf(await reader.get(`/v2/inbox?${query}`))).toBe(outcome)
  })
  test.each([...rows, ...ofExport])('export?%s: %s', async (query, outcome) => {
    expect(outcomeOf(await reader.get(`/v2/export?${query}`))).toBe(outcome)
  })

  test('spec 3.10: a body on an operation without one is 400', async () => {
    expect(outcomeOf(await friend.post(`/v2/messages/${all[0]?.id}/ack`, {}))).toBe('400 invalid_request')
  })
})

describe('spec 7.9: a cursor that this list has not issued is 400 invalid_cursor', () => {
  const INVALID = '400 invalid_cursor'
  let inbox: string
  let exported: string
  beforeAll(async () => {
    inbox = (await got(reader.get('/v2/inbox?limit=2'))).body.next_cursor
    exported = (await got(reader.get('/v2/export?limit=2'))).body.next_cursor
  })

  test.each(['', '1', 'AAAA', '%00'])('%j', async (after) => {
    expect(outcomeOf(await reader.get(`/v2/inbox?after=${after}`))).toBe(INVALID)
    expect(outcomeOf(await reader.get(`/v2/export?after=${after}`))).toBe(INVALID)
  })

  test('a cursor of another list', async () => {
    expect(outcomeOf(await reader.get(`/v2/inbox?after=${exported}`))).toBe(INVALID)
    expect(outcomeOf(await reader.get(`/v2/export?after=${inbox}`))).toBe(INVALID)
  })

  test('a cursor of another agent', async () => {
    const [alice] = await h.agents(1)
    expect(outcomeOf(await alice.get(`/v2/inbox?after=${inbox}`))).toBe(INVALID)
    expect(outcomeOf(await alice.get(`/v2/export?after=${exported}`))).toBe(INVALID)
  })

  test('a cursor is valid in every filter of its list', async () => {
    const place = all.filter(({ received, lane }) => received && lane === 'inbox')[1]?.id
    const behind = all.slice(all.findIndex(({ id }) => id === place) + 1)
    const requests = behind.filter(({ received, lane }) => received && lane === 'requests').map(({ id }) => id)
    expect(idsOf(await readList(reader, `/v2/inbox?lane=requests&after=${inbox}`))).toEqual(requests)
    const thread = behind.filter(({ threadId, received }) => received && threadId === root).map(({ id }) => id)
    const ofThread = idsOf(await readList(reader, `/v2/inbox?thread_id=${root}&after=${inbox}`))
    expect(ofThread.filter((id) => id !== root)).toEqual(thread)
  })
})

describe('spec 7.9: a page ends before its bytes pass 512 KiB', () => {
  let heavy: Agent
  let sent: string[]
  beforeAll(async () => {
    const [sender] = await h.agents(1)
    ;[heavy] = await h.agents(1)
    await got(heavy.patch('/v2/me', { inbox_policy: 'open' }))
    sent = []
    for (let at = 0; at < 50; at += 1) {
      const { body: _body, sig: _sig, ...head } = sender.envelope(heavy)
      const sealed = {
        ...head,
        body_enc: randomBytes(16_384).toString('base64'),
        ephemeral_pub: randomBytes(32).toString('base64'),
      }
      sent.push((await got(sender.post('/v2/messages', sealed))).body.msg_id)
    }
  })

  test.each(['/v2/inbox?limit=100', '/v2/export?limit=100'])('%s', async (path) => {
    const pages = await readPages(heavy, path)
    expect(pages.flatMap(({ body }) => idsOf(body.messages))).toEqual(sent)
    expect(pages.length).toBeGreaterThan(1)
    for (const [at, page] of pages.entries()) {
      const bytes = Buffer.byteLength(JSON.stringify(page.body.messages))
      expect(bytes).toBeLessThanOrEqual(PAGE_BYTES + 2)
      const next = pages[at + 1]?.body.messages[0]
      // The next message would have exceeded the limit.
      if (next !== undefined) expect(bytes + Buffer.byteLength(JSON.stringify(next))).toBeGreaterThan(PAGE_BYTES)
    }
  })

  test('/v2/events: next_cursor is the last one on the page', async () => {
    const found: string[] = []
    let after = 0
    while (found.length < sent.length) {
      const page = await got(heavy.get(`/v2/events?limit=100&after=${after}`))
      expect(Buffer.byteLength(JSON.stringify(page.body.events))).toBeLessThanOrEqual(PAGE_BYTES + 2)
      expect(page.body.events.length).toBeGreaterThan(0)
      expect(page.body.next_cursor).toBe(page.body.events.at(-1).cursor)
      found.push(...idsOf(page.body.events.map(({ message }: { message: ListedMessage }) => message)))
      after = page.body.next_cursor
    }
    expect(found).toEqual(sent)
  })
})

function fullPages(count: number, limit: number): number[] {
  const rest = count % limit
  return [...Array.from({ length: Math.floor(count / limit) }, () => limit), ...(rest === 0 ? [] : [rest])]
}
