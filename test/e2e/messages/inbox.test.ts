/** GET /v2/inbox and GET /v2/export. Source: spec 3.10, 3.12, 7.9, 7.11, 7.12, 7.15, 11.7. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Agent } from '../../support/client/agent.ts'
import { got } from '../../support/client/answers.ts'
import { idsOf, type ListedMessage, readList, readPages } from '../../support/client/pages.ts'
import { type SharedHarness, shareHarness } from '../../support/system/harness.ts'

let h: SharedHarness
let reader: Agent
let friend: Agent
/** The messages that the reader sent and received, in the order of acceptance. */
let all: { id: string; lane: string; acked: boolean; threadId: string | undefined; received: boolean }[]
let root: string

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
    ['/v2/inbox?lane=requests', ({ received, lane }) => received && lane === 'requests'],
    ['/v2/inbox?unacked=true', ({ received, lane, acked }) => received && lane === 'inbox' && !acked],
    ['/v2/inbox?lane=requests&unacked=true', ({ received, lane, acked }) => received && lane === 'requests' && !acked],
    ['/v2/inbox?thread_id=ROOT', (message) => message.received && inThread(message)],
    ['/v2/inbox?thread_id=ROOT&unacked=true', (message) => message.received && inThread(message) && !message.acked],
    ['/v2/export', () => true],
    ['/v2/export?thread_id=ROOT', (message) => inThread(message)],
  ]
  const rows = filters.flatMap(([path, belongs]) => [7].map((limit) => ({ path, belongs, limit })))
  test.each(rows)('$path, limit $limit', async ({ path, belongs, limit }) => {
    const expected = all.filter(belongs).map(({ id }) => id)
    expect(expected.length).toBeGreaterThan(1)
    const query = `${path.replace('ROOT', root)}${path.includes('?') ? '&' : '?'}limit=${limit}`
    const pages = await readPages(reader, query)
    expect(pages.flatMap(({ body }) => idsOf(body.messages))).toEqual(expected)
    const sizes = pages.map(({ body }) => body.messages.length)
    expect(sizes).toEqual(expected.length <= limit ? [expected.length] : fullPages(expected.length, limit))
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
})

function fullPages(count: number, limit: number): number[] {
  const rest = count % limit
  return [...Array.from({ length: Math.floor(count / limit) }, () => limit), ...(rest === 0 ? [] : [rest])]
}
