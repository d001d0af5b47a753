/** The call that each operation makes, and the answer that it returns. */
import { createBoard, getBoard, listBoards, listMembers, noteBlock, setMember } from '@svc/contracts/boards.ts'
import { getBudget } from '@svc/contracts/budget.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import {
  findAgent,
  findAgentByName,
  getIdentity,
  listAgents,
  revokeAgent,
  updateSettings,
} from '@svc/contracts/identity.ts'
import {
  ackMessage,
  exportMessages,
  getMessage,
  getReceipt,
  listContacts,
  listEvents,
  listInbox,
  listPosts,
  setContact,
  setVisibility,
  setVote,
} from '@svc/contracts/messaging.ts'
import { createKeyPair } from '@svc/svc1/key-pair.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Harness, JSON_BODY, startHarness } from '../support/harness.ts'

let h: Harness
let alice: ReturnType<Harness['register']>
let bob: ReturnType<Harness['register']>
beforeAll(async () => {
  h = await startHarness()
  alice = h.register('alice')
  bob = h.register('bob')
})
afterAll(() => h[Symbol.asyncDispose]())

const BOARD = 'b'.repeat(24)
const errorOf = (status: number, code: string) => ({ status, body: { error: { code } } })
const lastTo = (call: { subject: string }) => h.callsTo(call).at(-1)?.request

describe('reads', () => {
  const me = () => alice.agentId
  test.each([
    ['/v2/me', getIdentity, () => ({ agent_id: me() })],
    ['/v2/budget', getBudget, () => ({ agent_id: me() })],
    ['/v2/agents', listAgents, () => ({ after: '', limit: 50 })],
    ['/v2/agents?after=bob&limit=7', listAgents, () => ({ after: 'bob', limit: 7 })],
    ['/v2/contacts', listContacts, () => ({ agent_id: me(), after: '', limit: 50 })],
    ['/v2/contacts?after=zzz&limit=100', listContacts, () => ({ agent_id: me(), after: 'zzz', limit: 100 })],
    [
      '/v2/inbox',
      listInbox,
      () => ({ agent_id: me(), lane: 'inbox', unacked: false, thread_id: null, after: null, limit: 50 }),
    ],
    [
      '/v2/inbox?lane=requests&unacked=true&thread_id=message-1&after=c&limit=1',
      listInbox,
      () => ({ agent_id: me(), lane: 'requests', unacked: true, thread_id: 'message-1', after: 'c', limit: 1 }),
    ],
    ['/v2/export', exportMessages, () => ({ agent_id: me(), thread_id: null, after: null, limit: 50 })],
    [
      '/v2/export?thread_id=message-1&after=c&limit=1',
      exportMessages,
      () => ({ agent_id: me(), thread_id: 'message-1', after: 'c', limit: 1 }),
    ],
    ['/v2/boards', listBoards, () => ({ viewer: me(), after: '', limit: 50 })],
    ['/v2/boards?after=b%00&limit=7', listBoards, () => ({ viewer: me(), after: 'b\0', limit: 7 })],
    [`/v2/boards/${BOARD}`, getBoard, () => ({ viewer: me(), board_id: BOARD })],
    [`/v2/boards/${BOARD}/members`, listMembers, () => ({ caller: me(), board_id: BOARD })],
    ['/v2/events', listEvents, () => ({ agent_id: me(), after: 0, limit: 50 })],
    ['/v2/events?after=9&limit=3', listEvents, () => ({ agent_id: me(), after: 9, limit: 3 })],
    [
      `/v2/boards/${BOARD}/messages`,
      listPosts,
      () => ({ viewer: me(), board_id: BOARD, thread_id: null, after: null, limit: 50 }),
    ],
    [
      `/v2/boards/${BOARD}/messages?thread_id=message-1&after=c&limit=1`,
      listPosts,
      () => ({ viewer: me(), board_id: BOARD, thread_id: 'message-1', after: 'c', limit: 1 }),
    ],
    ['/v2/messages/message-1/receipts', getReceipt, () => ({ agent_id: me(), id: 'message-1' })],
    ['/v2/messages/message-1', getMessage, () => ({ viewer: me(), id: 'message-1' })],
  ])('GET %s', async (target, call, request) => {
    expect(await h.sendSigned(alice, { target })).toMatchObject({ status: 200 })
    expect(lastTo(call)).toEqual(request())
  })

  test('an anonymous reader of a feed has no agent id', async () => {
    await h.send({ target: '/v2/boards' })
    expect(lastTo(listBoards)).toMatchObject({ viewer: null })
    await h.send({ target: `/v2/boards/${BOARD}` })
    expect(lastTo(getBoard)).toEqual({ viewer: null, board_id: BOARD })
    await h.send({ target: `/v2/boards/${BOARD}/messages` })
    expect(lastTo(listPosts)).toMatchObject({ viewer: null, board_id: BOARD })
  })

  test('an anonymous reader of a message has no agent id', async () => {
    await h.send({ target: '/v2/messages/message-1' })
    expect(lastTo(getMessage)).toEqual({ viewer: null, id: 'message-1' })
  })

  test.each(['/v2/inbox?after=', '/v2/export?after=', '/v2/events?after=-1', '/v2/events?after='])(
    'GET %s is 400 invalid_cursor',
    async (target) => {
      expect(await h.sendSigned(alice, { target })).toMatchObject(errorOf(400, 'invalid_cursor'))
    },
  )

  test('a page is written as messaging assembled it, byte for byte', async () => {
    const text = '{"messages":[{"spelled":1.0e1,"ü":"\\u0000😀"}],"next_cursor":""}'
    h.answer(listInbox, () => ({ meta: {}, text }))
    const answer = await h.sendSigned(alice, { target: '/v2/inbox' })
    expect(answer.text).toBe(text)
    expect(answer.headers['content-length']).toBe(String(Buffer.byteLength(text)))
  })

  test('spec 9.6: events come with X-SVC-Earliest-Cursor and X-SVC-Latest-Cursor', async () => {
    expect(await h.sendSigned(alice, { target: '/v2/events' })).toMatchObject({
      status: 200,
      headers: { 'x-svc-earliest-cursor': '7', 'x-svc-latest-cursor': '9' },
    })
  })

  test('spec 5.9: an agent by its exact name, also one named like another path', async () => {
    expect(await h.send({ target: '/v2/agents/alice' })).toMatchObject({
      status: 200,
      body: { agent_id: alice.agentId },
    })
    expect(lastTo(findAgentByName)).toEqual({ name: 'alice' })
    expect(await h.send({ target: '/v2/agents/register' })).toMatchObject(errorOf(404, 'not_found'))
    h.register('register')
    expect(await h.send({ target: '/v2/agents/register' })).toMatchObject({ status: 200, body: { name: 'register' } })
  })
})

describe('changes', () => {
  const send = (method: string, target: string, body?: unknown, from = alice) =>
    h.sendSigned(from, {
      method,
      target,
      ...(body === undefined ? {} : { headers: JSON_BODY, body: JSON.stringify(body) }),
    })

  test.each([
    ['PUT', 'voted', true],
    ['DELETE', 'removed', false],
  ])('%s vote: %s', async (method, status, voted) => {
    const answer = await send(method, '/v2/messages/message-1/vote')
    expect(answer).toMatchObject({ status: 200, body: { status, quota_bonus: 0 } })
    expect(lastTo(setVote)).toEqual({ agent_id: alice.agentId, id: 'message-1', voted })
    // spec 3.10: an operation that takes no body refuses one.
    const withBody = { method, target: '/v2/messages/message-1/vote', body: '{}' }
    const headers = { ...JSON_BODY, 'content-length': '2' }
    expect(await h.sendSigned(alice, { ...withBody, headers })).toMatchObject(errorOf(400, 'invalid_request'))
  })

  test.each([true, false])('PUT visibility: hidden %s', async (hidden) => {
    const target = `/v2/boards/${BOARD}/messages/message-1/visibility`
    expect(await send('PUT', target, { hidden })).toMatchObject({ status: 200, body: { hidden } })
    expect(lastTo(setVisibility)).toEqual({ caller: alice.agentId, board_id: BOARD, id: 'message-1', hidden })
  })

  test('POST ack', async () => {
    expect(await send('POST', '/v2/messages/message-1/ack')).toMatchObject({ status: 200, body: { status: 'acked' } })
    expect(lastTo(ackMessage)).toEqual({ agent_id: alice.agentId, id: 'message-1' })
  })

  test.each([{}, { discoverable: true }, { inbox_policy: 'closed' }, { inbox_policy: 'open', discoverable: false }])(
    'PATCH /v2/me: %j',
    async (settings) => {
      expect(await send('PATCH', '/v2/me', settings)).toMatchObject({ status: 200, body: settings })
      expect(lastTo(updateSettings)).toEqual({ agent_id: alice.agentId, settings })
    },
  )

  test("spec 5.11: revoking needs the caller's own id", async () => {
    const gone = h.register('gone')
    for (const confirm_agent_id of [alice.agentId, '', gone.name]) {
      expect(await send('POST', '/v2/me/revoke', { confirm_agent_id }, gone)).toMatchObject(
        errorOf(400, 'confirmation_mismatch'),
      )
    }
    const calls = h.callsTo(revokeAgent).length
    expect(await send('POST', '/v2/me/revoke', { confirm_agent_id: gone.agentId }, gone)).toMatchObject({
      status: 200,
      body: { status: 'revoked' },
    })
    expect(h.callsTo(revokeAgent).slice(calls)).toMatchObject([{ request: { agent_id: gone.agentId } }])
    expect(await send('GET', '/v2/me', undefined, gone)).toMatchObject(errorOf(401, 'signer_revoked'))
  })

  test.each(['accepted', 'blocked', 'none'])('PUT contact: %s', async (state) => {
    const answer = await send('PUT', `/v2/contacts/${bob.agentId}`, { state })
    expect([answer.status, answer.body]).toEqual([200, { state }])
    expect(lastTo(setContact)).toEqual({ agent_id: alice.agentId, other: bob.agentId, state })
  })

  test('spec 7.7, 8.6: boards learns of a block before its answer; without boards it is answered all the same', async () => {
    const block = { agent_id: alice.agentId, owner: bob.agentId, version: 7 }
    await send('PUT', `/v2/contacts/${bob.agentId}`, { state: 'blocked' })
    expect(lastTo(noteBlock)).toEqual(block)
    h.answer(noteBlock, () => {
      throw new ServiceError('unavailable')
    })
    expect(await send('PUT', `/v2/contacts/${bob.agentId}`, { state: 'blocked' })).toMatchObject({ status: 200 })
  })

  test.each<[string, () => string, unknown, number, string]>([
    ['a malformed id, whatever the body', () => 'bob', { state: 'x' }, 404, 'not_found'],
    ['oneself', () => alice.agentId, { state: 'blocked' }, 400, 'invalid_request'],
    ['an unknown id', () => createKeyPair().agentId, { state: 'blocked' }, 404, 'not_found'],
    ['another state', () => bob.agentId, { state: 'friend' }, 400, 'invalid_request'],
  ])('spec 7.7: PUT contact on %s', async (_, id, body, status, code) => {
    const calls = h.callsTo(setContact).length
    expect(await send('PUT', `/v2/contacts/${id()}`, body)).toMatchObject(errorOf(status, code))
    expect(h.callsTo(setContact)).toHaveLength(calls)
  })

  test.each([
    { title: 'a', visibility: 'public' },
    { title: '😀'.repeat(120), description: '', visibility: 'private', posting: 'members' },
  ])('POST /v2/boards: %j', async (board) => {
    expect(await send('POST', '/v2/boards', board)).toMatchObject({ status: 201, body: board })
    expect(lastTo(createBoard)).toEqual({ owner: alice.agentId, board })
  })

  test('spec 2.11: a title of 121 code points says what is wrong with it', async () => {
    const calls = h.callsTo(createBoard).length
    const answer = await send('POST', '/v2/boards', { title: '😀'.repeat(121), visibility: 'public' })
    expect(answer).toMatchObject(errorOf(400, 'invalid_request'))
    expect(answer.text).toContain('title must be text of 1 to 120 characters')
    expect(h.callsTo(createBoard)).toHaveLength(calls)
  })

  // spec 4.1: the message is for a person, so it names the member and what is accepted.
  test.each<[string, string, string, unknown, string]>([
    [
      'a union lists its values',
      'PATCH',
      '/v2/me',
      { inbox_policy: 'all' },
      'inbox_policy must be requests, open, contacts or closed',
    ],
    [
      'a union of two',
      'POST',
      '/v2/boards',
      { title: 'a', visibility: 'public', posting: 1 },
      'posting must be members or anyone',
    ],
    ['a boolean', 'PATCH', '/v2/me', { discoverable: 'yes' }, 'discoverable must be true or false'],
    [
      'a missing member',
      'POST',
      '/v2/boards',
      { title: 'a' },
      'visibility is missing: it must be public, unlisted or private',
    ],
    ['a missing text', 'POST', '/v2/me/revoke', {}, 'confirm_agent_id is missing: it must be text'],
    [
      'an undeclared member',
      'PATCH',
      '/v2/me',
      { inbox_polcy: 'open' },
      'the body must not have the member "inbox_polcy"; allowed are inbox_policy and discoverable',
    ],
    [
      'an undeclared member with quotes',
      'PATCH',
      '/v2/me',
      { 'a"/~\n': 1 },
      'the body must not have the member "a\\"/~\\n"; allowed are inbox_policy and discoverable',
    ],
    [
      'a long name',
      'PATCH',
      '/v2/me',
      { ['x'.repeat(90)]: 1 },
      `the body must not have the member "${'x'.repeat(40)}…"; allowed are inbox_policy and discoverable`,
    ],
    [
      'no object',
      'PATCH',
      '/v2/me',
      [],
      'the body must be an object; allowed members are inbox_policy and discoverable',
    ],
    [
      'a query parameter',
      'GET',
      '/v2/inbox?after_id=1',
      undefined,
      'there is no query parameter "after_id"; this operation takes after, limit, lane, unacked, thread_id',
    ],
    [
      'a query parameter of none',
      'GET',
      '/v2/me?x=1',
      undefined,
      'there is no query parameter "x"; this operation takes none',
    ],
  ])('spec 4.1: what invalid_request says: %s', async (_, method, path, body, message) => {
    expect(await send(method, path, body)).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_request', message } },
    })
  })

  test.each(['reader', 'writer', 'banned', 'none'])('PUT member: %s', async (role) => {
    const path = `/v2/boards/${BOARD}/members`
    const request = { caller: alice.agentId, board_id: BOARD, role }
    expect(await send('PUT', `${path}/${bob.agentId}`, { role })).toMatchObject({ status: 200, body: { role } })
    // Only an addition depends on a block, so a ban and a removal do without messaging.
    const block = role === 'reader' || role === 'writer' ? { blocked: false, contact_version: 6 } : {}
    expect(lastTo(setMember)).toEqual({ ...request, ...block, agent_id: bob.agentId, standing: 'active' })
    const unknown = createKeyPair().agentId
    await send('PUT', `${path}/${unknown}`, { role })
    expect(lastTo(setMember)).toEqual({ ...request, ...block, agent_id: unknown, standing: 'unknown' })
    const asked = h.callsTo(findAgent).length
    await send('PUT', `${path}/${alice.agentId}`, { role })
    expect(lastTo(setMember)).toEqual({ ...request, agent_id: alice.agentId, standing: 'active' })
    expect(h.callsTo(findAgent)).toHaveLength(asked)
  })

  test.each([
    ['blocked', 'alice', true],
    ['accepted', 'alice', false],
    ['blocked', 'bob', false],
  ] as const)('spec 8.6: the agent has %s %s: %s', async (state, other, blocked) => {
    const contact = { agent_id: other === 'alice' ? alice.agentId : bob.agentId, state }
    h.answer(listContacts, () => ({ contacts: [contact], next_cursor: '', version: 6 }))
    await send('PUT', `/v2/boards/${BOARD}/members/${bob.agentId}`, { role: 'reader' })
    expect(lastTo(setMember)).toMatchObject({ blocked, contact_version: 6 })
    h.answer(listContacts, () => ({ contacts: [], next_cursor: '', version: 6 }))
  })

  test('spec 8.6: a revocation after the key was looked up is noticed', async () => {
    const erin = h.register('erin')
    await send('GET', '/v2/me', undefined, erin)
    h.revoke(erin)
    await send('PUT', `/v2/boards/${BOARD}/members/${erin.agentId}`, { role: 'reader' })
    expect(lastTo(setMember)).toMatchObject({ agent_id: erin.agentId, standing: 'revoked' })
  })

  test('a key that was found is not looked up again', async () => {
    const carol = h.register('carol')
    await send('GET', '/v2/me', undefined, carol)
    const calls = h.callsTo(findAgent).length
    await send('GET', '/v2/me', undefined, carol)
    await send('PUT', `/v2/contacts/${carol.agentId}`, { state: 'blocked' })
    expect(h.callsTo(findAgent)).toHaveLength(calls)
  })

  test('an unknown signer is looked up again, because it may register', async () => {
    const key = createKeyPair()
    expect(await send('GET', '/v2/me', undefined, { ...key, name: 'x' })).toMatchObject(errorOf(401, 'signer_unknown'))
    const dave = h.register('dave')
    expect(await send('GET', '/v2/me', undefined, dave)).toMatchObject({ status: 200 })
  })
})

test('every call carries the request id and a deadline within the 5 seconds that a client waits', async () => {
  const before = Date.now()
  const answer = await h.sendSigned(alice, { target: '/v2/me' })
  const after = Date.now()
  const context = h.callsTo(getIdentity).at(-1)?.context
  expect(context?.traceparent).toContain(`-${answer.headers['x-request-id']}-`)
  expect((context?.deadlineMs ?? 0) - before).toBeGreaterThan(3_000)
  expect((context?.deadlineMs ?? 0) - after).toBeLessThan(5_000)
})
