/** Single reads, acknowledgements and receipts of direct messages. Source: spec 7.10, 7.13, 7.14, 7.16. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Agent, call, type HttpAnswer } from '../../support/client/agent.ts'
import { got, outcomeOf, spendingOf } from '../../support/client/answers.ts'
import { type SharedHarness, shareHarness } from '../../support/system/harness.ts'

let h: SharedHarness
let sender: Agent
let recipient: Agent
let stranger: Agent

beforeAll(async () => {
  h = await shareHarness('usual')
  ;[sender, recipient, stranger] = await h.agents(3)
  await Promise.all([recipient, sender].map((agent) => got(agent.patch('/v2/me', { inbox_policy: 'open' }))))
})
afterAll(() => h[Symbol.asyncDispose]())

type Role = 'sender' | 'recipient' | 'stranger' | 'nobody'
const OPERATIONS = {
  read: ['GET', (id: string) => `/v2/messages/${id}`],
  ack: ['POST', (id: string) => `/v2/messages/${id}/ack`],
  receipt: ['GET', (id: string) => `/v2/messages/${id}/receipts`],
} as const
type OperationName = keyof typeof OPERATIONS

function as(role: Role, operation: OperationName, id: string): Promise<HttpAnswer> {
  const [method, pathOf] = OPERATIONS[operation]
  if (role === 'nobody') return call(h.place, method, pathOf(id))
  const agent = { sender, recipient, stranger }[role]
  return agent.call(method, pathOf(id))
}

describe('spec 7.10, 7.13, 7.14: who may do what with a direct message', () => {
  const NOT_FOUND = '404 not_found'
  const rows: [OperationName, Role, string][] = [
    ['read', 'recipient', '200'],
    ['read', 'sender', '200'],
    ['read', 'stranger', NOT_FOUND],
    ['read', 'nobody', NOT_FOUND],
    ['receipt', 'recipient', '200'],
    ['receipt', 'sender', '200'],
    ['receipt', 'stranger', NOT_FOUND],
    ['receipt', 'nobody', '401 unauthenticated'],
    ['ack', 'sender', '403 forbidden'],
    ['ack', 'stranger', NOT_FOUND],
    ['ack', 'nobody', '401 unauthenticated'],
    ['ack', 'recipient', '200'],
  ]
  test.each(rows)('%s by %s: %s', async (operation, role, outcome) => {
    const { msg_id } = (await got(sender.send(recipient))).body
    expect(outcomeOf(await as(role, operation, msg_id))).toBe(outcome)
    const acked = operation === 'ack' && role === 'recipient'
    expect((await sender.get(`/v2/messages/${msg_id}`)).body.acked).toBe(acked)
  })
})

describe('spec 7.16; ADR 22: everything that the caller cannot see gets the same 404', () => {
  test('byte for byte, except the request id and the time', async () => {
    const { msg_id } = (await got(sender.send(recipient))).body
    const ids = [
      msg_id,
      'not-there-at-all',
      'short',
      'a'.repeat(81),
      'a.b.c.d.e',
      '%00',
      '%F0%9F%98%80%F0%9F%98%80',
      '..%2F..%2Fhealth',
    ]
    for (const [operation, role] of [
      ['read', 'stranger'],
      ['read', 'nobody'],
      ['ack', 'stranger'],
      ['receipt', 'stranger'],
    ] as const) {
      const answers = await Promise.all(ids.map((id) => as(role, operation, id)))
      expect(answers.map(outcomeOf)).toEqual(ids.map(() => '404 not_found'))
      expect(new Set(answers.map(fingerprint)).size).toBe(1)
    }
  })

  function fingerprint({ status, headers, text }: HttpAnswer): string {
    const kept = [...headers].filter(([name]) => name !== 'x-request-id' && name !== 'date')
    return JSON.stringify([status, kept, text])
  }
})

describe('spec 7.13, 7.14: acknowledgement and receipt', () => {
  test('a receipt is accepted, then processed once the recipient has acked', async () => {
    const { msg_id } = (await got(sender.send(recipient))).body
    const { created_at } = (await got(sender.get(`/v2/messages/${msg_id}`))).body
    for (const role of ['sender', 'recipient'] as const) {
      const { body } = await as(role, 'receipt', msg_id)
      expect(body).toStrictEqual({ msg_id, status: 'accepted', accepted_at: created_at })
    }
    const answer = await as('recipient', 'ack', msg_id)
    expect(answer.status).toBe(200)
    expect(answer.body).toStrictEqual({ status: 'acked' })
    for (const role of ['sender', 'recipient'] as const) {
      const { body } = await as(role, 'receipt', msg_id)
      expect(body).toStrictEqual({ msg_id, status: 'processed', accepted_at: created_at })
    }
  })

  test('spec 3.19, 7.13: repeats are idempotent, one after another and concurrent', async () => {
    const { msg_id } = (await got(sender.send(recipient))).body
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, at) =>
        recipient.post(`/v2/messages/${msg_id}/ack`, undefined, { url: h.system.urls[at % 2] ?? h.place.url }),
      ),
    )
    answers.push(await as('recipient', 'ack', msg_id))
    expect(answers.map(({ status, text }) => `${status} ${text}`)).toEqual(answers.map(() => '200 {"status":"acked"}'))
  })

  test('spec 7.17: reads and acks cost nothing', async () => {
    const { msg_id } = (await got(sender.send(recipient))).body
    const before = await Promise.all([sender, recipient].map(spendingOf))
    for (const operation of ['read', 'ack', 'receipt'] as const) await as('recipient', operation, msg_id)
    for (const path of ['/v2/inbox', '/v2/export', '/v2/events', '/v2/contacts', '/v2/me']) await got(sender.get(path))
    expect(await Promise.all([sender, recipient].map(spendingOf))).toEqual(before)
  })
})
