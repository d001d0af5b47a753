/** What the gateway adds to the calls that operations make. clients/conformance/cases shows what operations do. */
import { noteBlock, setMember } from '@svc/contracts/boards.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import { findAgent, getIdentity, issueChallenge } from '@svc/contracts/identity.ts'
import { listContacts, listInbox } from '@svc/contracts/messaging.ts'
import { createKeyPair } from '@svc/svc1/key-pair.ts'
import { formatPublicKey } from '@svc/svc1/public-key.ts'
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
  test('a page is written as messaging assembled it, byte for byte', async () => {
    const text = '{"messages":[{"spelled":1.0e1,"ü":"\\u0000😀"}],"next_cursor":""}'
    h.answer(listInbox, () => ({ meta: {}, text }))
    const answer = await h.sendSigned(alice, { target: '/v2/inbox' })
    expect(answer.text).toBe(text)
    expect(answer.headers['content-length']).toBe(String(Buffer.byteLength(text)))
  })

  test('spec 5.9: an agent whose name is another path', async () => {
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

  test('spec 3.8: identity does not check the key of a signed challenge again', async () => {
    const key = { ...createKeyPair(), name: 'x' }
    const body = { pubkey: formatPublicKey(key.publicKey) }
    expect(await send('POST', '/v2/challenges', body, key)).toMatchObject({ status: 201 })
    expect(lastTo(issueChallenge)).toEqual({ ...body, key_checked: true })
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
    [
      'a text that is too long',
      'POST',
      '/v2/boards',
      { title: '😀'.repeat(121), visibility: 'public' },
      'title must be text of 1 to 120 characters',
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
