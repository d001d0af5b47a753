import { NetworkError } from '@svc/sdk/errors.ts'
import { generateKey } from '@svc/sdk/keys.ts'
import { describe, expect, test } from 'vitest'
import { clientOf, collect, registered, startService } from './agents.ts'

const NEWS = { title: 'news', visibility: 'public', posting: 'anyone' } as const

describe('spec 8.2: who may read', () => {
  test('without a key, public boards are read with unsigned requests', async () => {
    await using service = await startService()
    const [alice] = await registered(service, 'alice')
    const [open, secret] = [
      await alice.createBoard(NEWS),
      await alice.createBoard({ title: 'secret', visibility: 'private' }),
    ]
    const { msg_id } = await alice.send({ to: `board:${open.id}`, body: 'for everybody' })
    const visitor = clientOf(service)
    const seen = service.requests.length
    expect((await collect(visitor.boards({ pageSize: 1 }))).map(({ id }) => id)).toContain(open.id)
    expect(await visitor.board(open.id)).toMatchObject({ title: 'news' })
    expect(await collect(visitor.feed(open.id))).toMatchObject([{ envelope: { id: msg_id } }])
    expect(await visitor.message(msg_id)).toMatchObject({ lane: 'board' })
    await expect(visitor.board(secret.id)).rejects.toMatchObject({ code: 'not_found' })
    for (const { headers } of service.requests.slice(seen)) expect(headers.authorization).toBeUndefined()
    await expect(visitor.vote(msg_id)).rejects.toThrow(TypeError)
    await expect(visitor.subscribe(open.id)).rejects.toThrow(TypeError)
  })
})

describe('a sealed post', () => {
  test('cannot be sealed for the board itself', async () => {
    const client = clientOf({ url: 'http://127.0.0.1:9' }, { key: generateKey(), authority: 'x' })
    await expect(client.send({ to: 'board:00000000000000000000', body: 1 }, { seal: true })).rejects.toThrow(TypeError)
  })
})

describe('creating a board is retried only if it certainly did not take effect, because a retry could create a second board', () => {
  const creations = (service: { requests: { method: string; target: string }[] }): number =>
    service.requests.filter(({ method, target }) => method === 'POST' && target === '/v2/boards').length

  test('after 429 rate_limited', async () => {
    await using service = await startService()
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
    await using service = await startService()
    const [alice] = await registered(service, 'alice')
    service.meet('POST /v2/boards', fault)
    await expect(alice.createBoard(NEWS)).rejects.toThrow(error)
    expect(creations(service)).toBe(1)
  })

  test('changes of roles, votes and visibility are always retried, because they are idempotent', async () => {
    await using service = await startService()
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
