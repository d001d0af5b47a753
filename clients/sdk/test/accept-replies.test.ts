import { generateKey } from '@svc/sdk/keys.ts'
import { createMemoryStore } from '@svc/sdk/store/store.ts'
import { expect, test } from 'vitest'
import { clientOf, collect, registered, type Service, startService } from './agents.ts'

/** The writes that the service saw since a number of requests. */
const writes = ({ requests }: Service, since: number): string[] =>
  requests
    .slice(since)
    .filter(({ method }) => method !== 'GET')
    .map(({ method, target }) => `${method} ${target.split('/')[2]}`)

test('an answer reaches the inbox of whoever accepted it, and the contact is accepted before the message leaves', async () => {
  await using service = await startService()
  const [alice, bob] = await registered(service, 'alice', 'bob')
  const seen = service.requests.length
  await alice.send({ to: bob.name, body: 'ping' }, { acceptReplies: true })
  await alice.send({ to: bob.fullAddress, body: 'ping' }, { acceptReplies: true }).catch(() => undefined)
  expect(writes(service, seen)).toEqual(['PUT contacts', 'POST messages', 'POST messages'])
  expect(await bob.send({ to: alice.name, body: 'pong' })).toMatchObject({ lane: 'inbox' })
  expect(await alice.budget()).toMatchObject({ used_units: 2 })
})

test.each([
  ['none', 'accepted', 'accepted'],
  ['accepted', 'already', 'accepted'],
  ['blocked', 'blocked', 'blocked'],
] as const)('a contact in the state %s: %s', async (before, outcome, after) => {
  await using service = await startService()
  const [alice, bob] = await registered(service, 'alice', 'bob')
  await alice.setContact(bob.name, before)
  const { used_units } = await alice.budget()
  for (const who of [bob.name, bob.fullAddress, bob.key.agentId])
    expect(await clientOf(service, { key: alice.key }).acceptReplies(who)).toBe(
      who === bob.name ? outcome : after === 'accepted' ? 'already' : after,
    )
  expect(await collect(alice.contacts())).toEqual([{ agent_id: bob.key.agentId, state: after }])
  expect((await alice.budget()).used_units - used_units).toBe(before === 'none' ? 1 : 0)
})

test('somebody who is blocked while the acceptance is on its way stays blocked', async () => {
  await using service = await startService()
  const [alice, bob] = await registered(service, 'alice', 'bob')
  const accepted = alice.acceptReplies(bob.name)
  await Promise.all([accepted, alice.setContact(bob.name, 'blocked')])
  expect(await collect(alice.contacts())).toMatchObject([{ state: 'blocked' }])
  expect(await alice.acceptReplies(bob.name)).toBe('blocked')
})

test('the state is found among many contacts with one request', async () => {
  await using service = await startService()
  const names = Array.from({ length: 20 }, (_, n) => `agent-${n}`)
  const [alice, ...others] = await registered(service, 'alice', ...names)
  for (const [at, { key }] of others.entries())
    await alice.setContact(key.agentId, at % 2 === 0 ? 'accepted' : 'blocked')
  const seen = service.requests.length
  for (const [at, { key }] of others.entries())
    expect(await alice.acceptReplies(key.agentId)).toBe(at % 2 === 0 ? 'already' : 'blocked')
  expect(service.requests).toHaveLength(seen + others.length)
})

test('nothing is accepted for a message that cannot be sent, and nothing is sent if the recipient cannot be accepted', async () => {
  await using service = await startService()
  const [alice, bob] = await registered(service, 'alice', 'bob')
  const seen = service.requests.length
  await expect(alice.send({ to: bob.name, body: 1n }, { acceptReplies: true })).rejects.toThrow(TypeError)
  await expect(alice.send({ to: bob.name, body: 'x'.repeat(3_999) }, { acceptReplies: true })).rejects.toMatchObject({
    code: 'message_too_large',
    message: expect.stringContaining('4001 code points'),
  })
  await expect(
    alice.send({ to: bob.name, body: 'x'.repeat(17_000) }, { seal: true, acceptReplies: true }),
  ).rejects.toMatchObject({
    code: 'message_too_large',
  })
  await expect(alice.send({ to: 'bobb', body: 1 }, { acceptReplies: true })).rejects.toMatchObject({
    code: 'recipient_unavailable',
  })
  expect(writes(service, seen)).toEqual([])
  service.meet('PUT /v2/contacts', { kind: 'refuse', code: 'budget_exhausted', retryAfterSeconds: 60 })
  await expect(alice.send({ to: bob.name, body: 1 }, { acceptReplies: true })).rejects.toMatchObject({
    code: 'budget_exhausted',
  })
  expect(writes(service, seen)).toEqual(['PUT contacts'])
})

test('to oneself and to a board there is nobody to accept', async () => {
  await using service = await startService()
  const [alice] = await registered(service, 'alice')
  expect(await alice.acceptReplies(alice.name)).toBe('already')
  const board = await alice.createBoard({ title: 'Releases', visibility: 'public' })
  await alice.send({ to: `board:${board.id}`, body: 1 }, { acceptReplies: true })
  expect(await collect(alice.contacts())).toEqual([])
})

test('contacts that the client accepted by itself are listed, until somebody confirms them or takes them back', async () => {
  await using service = await startService()
  const [alice, bob, carol, dave] = await registered(service, 'alice', 'bob', 'carol', 'dave')
  const store = createMemoryStore()
  const client = clientOf(service, { key: alice.key, store })
  expect(await client.acceptedByItself()).toEqual([])
  await client.setContact(dave.name, 'accepted')
  for (const name of [bob.name, carol.name, dave.name]) await client.acceptReplies(name)
  const later = clientOf(service, { key: alice.key, store })
  const sorted = [bob, carol].map(({ key: { agentId } }, at) => ({ agentId, name: [bob.name, carol.name][at] }))
  sorted.sort((a, b) => (a.agentId < b.agentId ? -1 : 1))
  expect(await later.acceptedByItself()).toEqual(sorted)
  await later.setContact(bob.key.agentId, 'none')
  await later.setContact(carol.name, 'accepted')
  expect(await client.acceptedByItself()).toEqual([])
  expect((await collect(alice.contacts())).map(({ agent_id }) => agent_id).sort()).toEqual(
    [carol, dave].map(({ key }) => key.agentId).sort(),
  )
  // Blocked elsewhere: the mark stays, the contact is not listed.
  await client.acceptReplies(bob.name)
  await alice.setContact(bob.name, 'blocked')
  expect(await client.acceptedByItself()).toEqual([])
})

test('an acceptance that another program took back is made again by a call that asks afresh', async () => {
  await using service = await startService()
  const [alice, bob] = await registered(service, 'alice', 'bob')
  const [client, other] = [clientOf(service, { key: alice.key }), clientOf(service, { key: alice.key })]
  expect(await client.acceptReplies(bob.name)).toBe('accepted')
  await other.setContact(bob.name, 'none')
  expect(await client.acceptReplies(bob.name)).toBe('already')
  expect(await client.acceptReplies(bob.name, { afresh: true })).toBe('accepted')
  expect(await collect(alice.contacts())).toEqual([{ agent_id: bob.key.agentId, state: 'accepted' }])
  await other.setContact(bob.name, 'blocked')
  expect(await client.acceptReplies(bob.name, { afresh: true })).toBe('blocked')
})

test('a member of a board is named by name, address or id', async () => {
  await using service = await startService()
  const [alice, bob] = await registered(service, 'alice', 'bob')
  const { id } = await alice.createBoard({ title: 'Releases', visibility: 'public' })
  for (const who of [bob.name, bob.fullAddress, bob.key.agentId])
    expect(await alice.setMember(id, who, 'writer')).toMatchObject({ role: 'writer' })
  expect(await alice.members(id)).toContainEqual({ agent_id: bob.key.agentId, role: 'writer' })
  await expect(alice.setMember(id, generateKey().agentId, 'writer')).rejects.toMatchObject({ code: 'not_found' })
})
