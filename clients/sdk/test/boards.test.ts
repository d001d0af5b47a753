import { NetworkError } from '@svc/sdk/errors.ts'
import { generateKey } from '@svc/sdk/keys.ts'
import { describe, expect, test } from 'vitest'
import { clientOf, collect, registered } from './agents.ts'
import { startFakeService } from './fake-service.ts'

const NEWS = { title: 'news', visibility: 'public', posting: 'anyone' } as const

test('the main job: create, subscribe, post, read, vote, hide, restore', async () => {
  await using service = await startFakeService()
  const [alice, bob] = await registered(service, 'alice', 'bob')
  const board = await alice.createBoard({ ...NEWS, description: 'what is new' })
  expect(board).toMatchObject({ ...NEWS, owner: alice.key.agentId, description: 'what is new' })
  expect(await bob.subscribe(board.id)).toMatchObject({ role: 'reader' })

  const post = await alice.send({ to: `board:${board.id}`, body: 'hello, all' })
  expect(post).toMatchObject({ lane: 'board', duplicate: false })
  const reply = await bob.send({ to: `board:${board.id}`, body: 'hi', replyTo: post.msg_id, threadId: post.msg_id })
  const feed = await collect(bob.feed(board.id, { pageSize: 1 }))
  expect(feed.map(({ envelope }) => envelope.id)).toEqual([post.msg_id, reply.msg_id])
  expect(await collect(bob.feed(board.id, { threadId: reply.msg_id }))).toHaveLength(1)
  const from = { sender: 'alice', to: `board:${board.id}` }
  expect(await bob.open(feed[0] ?? expect.unreachable(), from)).toEqual({
    body: 'hello, all',
    sealed: false,
    verified: true,
    sender: { agentId: alice.key.agentId, name: 'alice' },
  })
  expect(await collect(bob.events())).toMatchObject([{ kind: 'board', message: { envelope: { id: post.msg_id } } }])

  expect(await bob.vote(post.msg_id)).toMatchObject({ status: 'voted', quota_bonus: 0 })
  expect(await alice.message(post.msg_id)).toMatchObject({ upvotes: 1 })
  expect(await bob.removeVote(post.msg_id)).toMatchObject({ status: 'removed' })
  expect(await alice.message(post.msg_id)).toMatchObject({ upvotes: 0 })
  await expect(alice.vote(post.msg_id)).rejects.toMatchObject({ status: 403, code: 'own_post' })

  expect(await alice.hide(board.id, reply.msg_id)).toMatchObject({ hidden: true })
  expect(await collect(bob.feed(board.id))).toHaveLength(1)
  await expect(bob.message(reply.msg_id)).rejects.toMatchObject({ code: 'not_found' })
  expect(await alice.message(reply.msg_id)).toMatchObject({ envelope: { id: reply.msg_id } })
  expect(await alice.restore(board.id, reply.msg_id)).toMatchObject({ hidden: false })
  expect(await collect(bob.feed(board.id))).toHaveLength(2)
  await expect(bob.hide(board.id, post.msg_id)).rejects.toMatchObject({ status: 403, code: 'forbidden' })
  expect(await bob.leave(board.id)).toMatchObject({ role: 'none' })
})

test('the owner assigns roles and lists the members', async () => {
  await using service = await startFakeService()
  const [alice, bob, carol] = await registered(service, 'alice', 'bob', 'carol')
  const board = await alice.createBoard({ title: 'closed circle', visibility: 'private' })
  await expect(bob.board(board.id)).rejects.toMatchObject({ code: 'not_found' })
  expect(await alice.setMember(board.id, bob.key.agentId, 'writer')).toMatchObject({ role: 'writer' })
  await alice.setMember(board.id, carol.key.agentId, 'banned')
  expect(await bob.board(board.id)).toMatchObject({ id: board.id, posting: 'members' })
  const roles = Object.fromEntries((await alice.members(board.id)).map(({ agent_id, role }) => [agent_id, role]))
  expect(roles).toEqual({ [alice.key.agentId]: 'owner', [bob.key.agentId]: 'writer', [carol.key.agentId]: 'banned' })
  await expect(bob.members(board.id)).rejects.toMatchObject({ code: 'forbidden' })
  await expect(alice.setMember(board.id, alice.key.agentId, 'none')).rejects.toMatchObject({ code: 'owner_role' })
})

describe('spec 8.2: who may read', () => {
  test('without a key, public boards are read with unsigned requests', async () => {
    await using service = await startFakeService()
    const [alice] = await registered(service, 'alice')
    const [open, secret] = [
      await alice.createBoard(NEWS),
      await alice.createBoard({ title: 'secret', visibility: 'private' }),
    ]
    const { msg_id } = await alice.send({ to: `board:${open.id}`, body: 'for everybody' })
    const visitor = clientOf(service)
    const seen = service.requests.length
    expect(await collect(visitor.boards({ pageSize: 1 }))).toMatchObject([{ id: open.id }])
    expect(await visitor.board(open.id)).toMatchObject({ title: 'news' })
    expect(await collect(visitor.feed(open.id))).toMatchObject([{ envelope: { id: msg_id } }])
    expect(await visitor.message(msg_id)).toMatchObject({ lane: 'board' })
    await expect(visitor.board(secret.id)).rejects.toMatchObject({ code: 'not_found' })
    for (const { headers } of service.requests.slice(seen)) expect(headers.authorization).toBeUndefined()
    await expect(visitor.vote(msg_id)).rejects.toThrow(TypeError)
    await expect(visitor.subscribe(open.id)).rejects.toThrow(TypeError)
  })

  test('with a key the requests are signed, so private boards are listed too', async () => {
    await using service = await startFakeService()
    const [alice] = await registered(service, 'alice')
    const secret = await alice.createBoard({ title: 'secret', visibility: 'private' })
    await alice.createBoard(NEWS)
    expect(await collect(alice.boards({ pageSize: 1 }))).toMatchObject([{ id: secret.id }, { title: 'news' }])
    expect(await collect(alice.boards({ after: secret.id }))).toHaveLength(1)
    expect(await collect(alice.feed(secret.id))).toEqual([])
  })
})

describe('a sealed post', () => {
  test('is sealed for the public key of one reader', async () => {
    await using service = await startFakeService()
    const [alice, bob] = await registered(service, 'alice', 'bob')
    const board = await alice.createBoard(NEWS)
    await alice.send({ to: `board:${board.id}`, body: 'psst' }, { seal: bob.key.pubkey })
    const [message = expect.unreachable()] = await collect(bob.feed(board.id))
    const from = { sender: 'alice', to: `board:${board.id}` }
    expect(await bob.open(message, from)).toMatchObject({ body: 'psst', sealed: true, verified: true })
  })

  test('cannot be sealed for the board itself', async () => {
    const client = clientOf({ url: 'http://127.0.0.1:9' }, { key: generateKey(), authority: 'x' })
    await expect(client.send({ to: 'board:00000000000000000000', body: 1 }, { seal: true })).rejects.toThrow(TypeError)
  })
})

describe('creating a board is retried only if it certainly did not take effect, because a retry could create a second board', () => {
  const creations = (service: { requests: { method: string; target: string }[] }): number =>
    service.requests.filter(({ method, target }) => method === 'POST' && target === '/v2/boards').length

  test('after 429 rate_limited', async () => {
    await using service = await startFakeService()
    const [alice] = await registered(service, 'alice')
    service.meet('POST /v2/boards', { kind: 'refuse', code: 'rate_limited', retryAfterSeconds: 1 })
    expect(await alice.createBoard(NEWS)).toMatchObject(NEWS)
    expect(creations(service)).toBe(2)
  })

  test.each([
    ['a lost answer', { kind: 'lose' }, NetworkError],
    ['a cut connection', { kind: 'cut' }, NetworkError],
    ['503', { kind: 'refuse', code: 'unavailable' }, expect.objectContaining({ code: 'unavailable' })],
  ] as const)('not after %s', async (_, fault, error) => {
    await using service = await startFakeService()
    const [alice] = await registered(service, 'alice')
    service.meet('POST /v2/boards', fault)
    await expect(alice.createBoard(NEWS)).rejects.toThrow(error)
    expect(creations(service)).toBe(1)
  })

  test('changes of roles, votes and visibility are always retried, because they are idempotent', async () => {
    await using service = await startFakeService()
    const [alice, bob] = await registered(service, 'alice', 'bob')
    const { id } = await alice.createBoard(NEWS)
    const { msg_id } = await alice.send({ to: `board:${id}`, body: 1 })
    service.meet('PUT', { kind: 'lose' }, { kind: 'cut' })
    expect(await bob.subscribe(id)).toMatchObject({ role: 'reader' })
    service.meet('PUT', { kind: 'lose' })
    expect(await bob.vote(msg_id)).toMatchObject({ status: 'voted' })
    service.meet('PUT', { kind: 'lose' })
    expect(await alice.hide(id, msg_id)).toMatchObject({ hidden: true })
    service.meet('DELETE', { kind: 'cut' })
    await alice.restore(id, msg_id)
    expect(await bob.removeVote(msg_id)).toMatchObject({ status: 'removed' })
    expect(await bob.budget()).toMatchObject({ used_units: 2 })
  })
})

test.each(['', '.', '..'])('the id %j is refused, because a URL would drop it from the path', async (id) => {
  const client = clientOf({ url: 'http://127.0.0.1:9' }, { key: generateKey(), authority: 'x' })
  for (const call of [
    client.board(id),
    client.members(id),
    client.subscribe(id),
    client.setMember('board', id, 'none'),
    client.vote(id),
    client.removeVote(id),
    client.hide(id, 'post'),
    client.restore('board', id),
  ])
    await expect(call).rejects.toThrow(TypeError)
  expect(() => client.feed(id)).toThrow(TypeError)
})
