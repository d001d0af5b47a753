import { composeEnvelope } from '@svc/sdk/messages/compose.ts'
import { expect, test } from 'vitest'
import { clientOf, collect, registered, startService, uniqueName } from './agents.ts'

test('a reply goes to the sender, names the message and its thread, is sealed if the message was, and has any type', async () => {
  await using service = await startService()
  const [alice, bob] = await registered(service, 'alice', 'bob')
  await bob.setContact(alice.name, 'accepted')
  await alice.acceptReplies(bob.name)
  const root = await alice.send({ to: bob.name, body: 1 }, { seal: true })
  await alice.send({ to: bob.name, body: 2, threadId: root.msg_id })
  const [first = expect.unreachable(), second = expect.unreachable()] = await collect(bob.inbox())
  // In a later process, which knows no key yet.
  const id = uniqueName('an-id-of-my-own')
  const later = clientOf(service, { key: bob.key })
  await later.reply(first, 'one')
  await later.reply(await later.openMessage(second), 'two', { type: 'error', id, ttl: 60 })
  const replies = await collect(alice.inbox())
  expect(replies.map(({ envelope }) => envelope)).toMatchObject([
    { type: 'response', reply_to: root.msg_id, thread_id: root.msg_id, body_enc: expect.any(String) },
    {
      id,
      type: 'error',
      reply_to: second.envelope.id,
      thread_id: root.msg_id,
      body: 'two',
      ttl: 60,
    },
  ])
  expect(await alice.open(replies[0] ?? expect.unreachable())).toMatchObject({ body: 'one', sealed: true })
})

test.each([
  [{}, 'requests', false],
  [{ accept: true }, 'inbox', true],
] as const)('the sender of a request is accepted only if the caller says so (%o)', async (options, lane, accepted) => {
  await using service = await startService()
  const [alice, bob] = await registered(service, 'alice', 'bob')
  await alice.send({ to: bob.name, body: 'hello' })
  const [request = expect.unreachable()] = await collect(bob.inbox({ lane: 'requests' }))
  await bob.reply(request, 'hi', options)
  const contacts = await Promise.all((await collect(bob.contacts())).map(({ agent_id }) => bob.nameOf(agent_id)))
  expect(contacts).toEqual(accepted ? [alice.name] : [])
  expect((await bob.message(request.envelope.id)).lane).toBe(lane)
})

test('a block stays a block, and a message in the inbox accepts nobody', async () => {
  await using service = await startService()
  const [alice, bob] = await registered(service, 'alice', 'bob')
  await alice.send({ to: bob.name, body: 'hello' })
  const [request = expect.unreachable()] = await collect(bob.inbox({ lane: 'requests' }))
  await bob.setContact(alice.name, 'blocked')
  await bob.reply(request, 'no', { accept: true })
  expect(await collect(bob.contacts())).toMatchObject([{ state: 'blocked' }])
})

test('a message that does not verify is not answered', async () => {
  await using service = await startService()
  const [alice, bob] = await registered(service, 'alice', 'bob')
  const { msg_id } = await alice.send({ to: bob.name, body: 1 })
  service.tamper(msg_id, (envelope) => {
    envelope.body = 2
  })
  const message = await bob.message(msg_id)
  await expect(bob.reply(message, 'yes')).rejects.toMatchObject({ reason: 'invalid_signature' })
  const unverified = {
    ...(await alice.openMessage(await alice.message((await alice.send({ to: alice.name, body: 1 })).msg_id))),
    verified: false,
  }
  await expect(bob.reply(unverified, 'yes')).rejects.toMatchObject({ reason: 'unknown_sender' })
})

test('a message that names its sender by id is answered if the name of the id is known', async () => {
  await using service = await startService()
  const [alice, bob] = await registered(service, 'alice', 'bob')
  const address = bob.fullAddress
  const from = alice.key.agentId
  const old = await composeEnvelope({ to: bob.name }, { key: alice.key, from, address, body: 1, nowMs: Date.now() })
  await alice.post(old)
  const message = await bob.message(old.id)
  await expect(bob.reply(message, 'yes')).rejects.toMatchObject({ reason: 'unknown_sender' })
  await expect(bob.reply(message, 'yes', { sender: alice.key.pubkey })).rejects.toThrow('look up its name first')
  await bob.reply(message, 'yes', { sender: alice.name })
  expect(await collect(alice.inbox({ lane: 'requests' }))).toMatchObject([{ envelope: { reply_to: old.id } }])
})

test('a post is answered on its board', async () => {
  await using service = await startService()
  const [alice, bob] = await registered(service, 'alice', 'bob')
  const board = await alice.createBoard({ title: 'Releases', visibility: 'public', posting: 'anyone' })
  const to = `board:${board.id}`
  await alice.send({ to, body: '1.0 is out' })
  await alice.send({ to, body: 'psst' }, { seal: bob.key.pubkey })
  const [post = expect.unreachable(), sealed = expect.unreachable()] = await collect(bob.feed(board.id))
  await bob.reply(post, 'thanks')
  await expect(bob.reply(sealed, 'thanks')).rejects.toThrow('is a sealed post')
  expect((await collect(bob.feed(board.id))).at(-1)).toMatchObject({
    envelope: { to, reply_to: post.envelope.id, thread_id: post.envelope.id },
  })
})
