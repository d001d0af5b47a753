import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DeadLetter, ProcessOptions } from '@svc/sdk/process/consumer.ts'
import { createFileStore } from '@svc/sdk/store/file-store.ts'
import { createMemoryStore } from '@svc/sdk/store/store.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import type { Fault } from '@svc/test/support/stand-ins/fault-proxy.ts'
import { expect, onTestFinished, test } from 'vitest'
import { clientOf, collect, registered, startService } from './agents.ts'

const echo: ProcessOptions['handle'] = ({ body }) => ({ echo: body })

test.each<[string, string, Fault]>([
  ['the answer is not accepted', 'POST /v2/messages', { kind: 'cut' }],
  ['the answer is accepted, and the reply is lost', 'POST /v2/messages', { kind: 'lose' }],
  ['the service is not available', 'POST /v2/messages', { kind: 'refuse', code: 'unavailable' }],
  ['the units are used up', 'POST /v2/messages', { kind: 'refuse', code: 'budget_exhausted', retryAfterSeconds: 9 }],
  ['a proxy answers', 'POST /v2/messages', { kind: 'answer', status: 200, body: '<html>' }],
  ['the acknowledgement is lost', 'POST /v2/messages/', { kind: 'lose' }],
  ['the sender cannot be looked up', 'GET /v2/agents', { kind: 'cut' }],
  [
    'the sender cannot be accepted',
    'PUT /v2/contacts',
    { kind: 'refuse', code: 'hard_limit_reached', retryAfterSeconds: 9 },
  ],
  ['the stream breaks', 'GET /v2/stream', { kind: 'cut' }],
])('every request is answered once if, again and again, %s', async (_, prefix, fault) => {
  await using service = await startService()
  const [alice, bob] = await registered(service, 'alice', 'bob')
  await alice.setContact(bob.name, 'accepted')
  const sent = [await alice.send({ to: bob.name, body: 0, type: 'request' }, { seal: true })]
  const stop = new AbortController()
  const store = createMemoryStore()
  service.meet(prefix, ...Array.from({ length: 15 }, () => fault))
  const agent = clientOf(service, { key: bob.key, store, warn: () => undefined })
  const options: ProcessOptions = {
    handle: echo,
    accept: true,
    lanes: ['inbox', 'requests'],
    onWait: () => undefined,
    signal: stop.signal,
  }
  let consumed = agent.process(options)
  const inbox = () => collect(alice.inbox())
  const restart = (error: unknown): void => {
    // Like any supervisor: the service could not be reached from the start.
    if (!stop.signal.aborted) consumed = agent.process(options).catch(restart)
    expect(error).toMatchObject({ name: 'NetworkError' })
  }
  consumed.catch(restart)
  await eventually(async () => expect(await inbox()).toHaveLength(1))
  for (const body of [1, 2, 3]) {
    // The faults meet her too.
    const envelope = await alice.compose({ to: bob.name, body, type: 'request' })
    sent.push(await eventually(() => alice.post(envelope)))
  }
  await eventually(async () => {
    expect(await store.keys('process/messages/')).toEqual([])
    expect(await inbox()).toHaveLength(4)
  })
  stop.abort()
  await consumed
  expect((await inbox()).map(({ envelope }) => envelope.reply_to)).toEqual(sent.map(({ msg_id }) => msg_id))
  expect(await collect(bob.inbox({ unacked: true }))).toEqual([])
  expect(await agent.acceptedByItself()).toEqual([{ agentId: alice.key.agentId, name: alice.name }])
})

test('a message that does not verify is kept with the reason, and an old one by id needs a key', async () => {
  await using service = await startService()
  const [alice, bob] = await registered(service, 'alice', 'bob')
  await bob.setContact(alice.name, 'accepted')
  const { msg_id } = await alice.send({ to: bob.name, body: 'pay' })
  service.tamper(msg_id, (envelope) => {
    envelope.body = 'pay more'
  })
  await alice.send({ to: bob.name, body: 'good' })
  const handled: unknown[] = []
  const letters: DeadLetter[] = []
  await bob.process({
    handle: ({ body }) => void handled.push(body),
    onDeadLetter: (letter) => void letters.push(letter),
    count: 2,
  })
  expect(handled).toEqual(['good'])
  expect(letters).toMatchObject([
    { id: msg_id, attempts: 0, reason: expect.stringContaining(`is not signed by ${alice.fullAddress}`) },
  ])
  expect((await collect(bob.inbox({ unacked: true }))).map(({ envelope }) => envelope.id)).toEqual([msg_id])
})

test('a gap in the history is reported, and what is kept is handled', async () => {
  await using service = await startService()
  const [alice, bob] = await registered(service, 'alice', 'bob')
  await bob.setContact(alice.name, 'accepted')
  const ids: string[] = []
  for (const body of [1, 2, 3, 4]) ids.push((await alice.send({ to: bob.name, body })).msg_id)
  const store = createMemoryStore()
  const handled: unknown[] = []
  const gaps: unknown[] = []
  const handle: ProcessOptions['handle'] = ({ body }) => void handled.push(body)
  await bob.process({ store, handle, count: 1, parallel: 1 })
  await service.expire(...ids.slice(0, 3))
  await bob.process({ store, handle, count: 1, onGap: (gap) => gaps.push(gap) })
  expect([handled, gaps]).toEqual([[1, 4], [{ after: 1, earliest: 4 }]])
})

test('with a file store, a later process continues, and the store of another agent is refused', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-process-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  await using service = await startService()
  const [alice, bob] = await registered(service, 'alice', 'bob')
  await bob.setContact(alice.name, 'accepted')
  await alice.setContact(bob.name, 'accepted')
  for (const body of [1, 2]) await alice.send({ to: bob.name, body })
  for (let n = 0; n < 2; n += 1) {
    using store = createFileStore(folder)
    await clientOf(service, { key: bob.key, store }).process({ handle: echo, count: 1, parallel: 1 })
    await expect(alice.process({ handle: echo, store })).rejects.toThrow(`the store belongs to ${bob.key.agentId}`)
  }
  expect((await collect(alice.inbox())).map(({ envelope }) => 'body' in envelope && envelope.body)).toEqual([
    { echo: 1 },
    { echo: 2 },
  ])
})

test('the hooks of the client report retries, and streams that end and come back', async () => {
  await using service = await startService()
  const [alice] = await registered(service, 'alice')
  const told: string[] = []
  const client = clientOf(service, {
    key: alice.key,
    onRetry: (failure, delayMs) => told.push(`retry ${(failure as Error).name} ${delayMs > 0}`),
    onDisconnect: (failure) => told.push(`disconnect ${failure === undefined ? 'normally' : (failure as Error).name}`),
    onReconnect: () => told.push('reconnect'),
  })
  service.meet('GET /v2/budget', { kind: 'cut' })
  await client.budget()
  expect(told.splice(0)).toEqual(['retry NetworkError true'])
  await client.send({ to: alice.name, body: 1 })
  for await (const { cursor } of client.stream()) {
    if (cursor === 2) break
    service.dropStreams()
    await client.send({ to: alice.name, body: 2 })
  }
  expect(told).toEqual(['disconnect NetworkError', 'retry NetworkError true', 'reconnect'])
})
