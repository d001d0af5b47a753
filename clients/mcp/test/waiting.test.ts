import { AgentClient } from '@svc/sdk/client.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { startTcpProxy } from '@svc/test/support/stand-ins/tcp-proxy.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readKeyFile } from '../src/store/key-file.ts'
import { type Fields, overStdio, temporaryFolder, textOf } from './scene.ts'
import { type Stage, startStage } from './stage.ts'

/** Both agents have no network for this long. */
const CUT_MS = 10_000

let stage: Stage
beforeAll(async () => {
  stage = await startStage()
})
afterAll(() => stage?.[Symbol.asyncDispose]())

test('two agents hold a sealed conversation while the network is cut for ten seconds', {
  timeout: 180_000,
}, async () => {
  await using stack = new AsyncDisposableStack()
  const proxy = stack.use(await startTcpProxy())
  // Both agents reach the service through the proxy. The authority of the service does not change.
  const url = proxy.through(stage.url).replace(/\/$/, '')
  const alice = await stage.serve(stack, { url })
  const bob = await stage.serve(stack, { url })
  const question = { to: bob.name, body: 'is anybody there?', message_id: `q-${alice.name}` }

  const arriving = bob.call('wait_for_messages', { timeout_seconds: 55 })
  // Cut the network only when Bob waits with a stream.
  await eventually(async () => (await bob.call('whoami')).listens_by === 'stream')
  await proxy.cut()
  const mended = new Promise<void>((resolve) => setTimeout(resolve, CUT_MS)).then(() => proxy.mend())
  // Repeats the call with the same id until there is an answer, as an agent should.
  const answered = (async (): Promise<Fields> => {
    for (;;) {
      const result = await alice.result('send_and_wait', { ...question, timeout_seconds: 55 })
      if (result.isError !== true) return result.structuredContent as Fields
      expect(textOf(result)).toMatch(/^no_answer: /)
    }
  })()
  await mended
  const { messages } = await arriving
  expect(messages).toMatchObject([{ type: 'request', sealed: true }])
  expect(messages[0].text).toContain('is anybody there?')
  await bob.call('find_agent', { name: alice.name })
  await bob.call('reply', { message_id: question.message_id, body: 'I am', reply_id: `a-${bob.name}` })
  const answer = await answered
  expect(answer).toMatchObject({
    answered: true,
    answer: { reply_to: question.message_id, sealed: true, verified: true },
  })
  // The repeated calls sent nothing twice, and accepted Bob once.
  expect((await alice.call('read_thread', { message_id: question.message_id })).messages).toHaveLength(2)
  expect(await alice.call('budget')).toMatchObject({ used_units_today: 2 })
})

test('several processes with one key and one state folder share one stream, and all are woken', async () => {
  await using stack = new AsyncDisposableStack()
  const folder = stack.use(temporaryFolder())
  const keyPath = folder.path('key')
  const name = 'shared-agent'
  const args = ['--key', keyPath, '--url', stage.url, '--register', name]
  const first = stack.use(await overStdio('stdio', args))
  const second = stack.use(await overStdio('stdio 2026', args))
  const third = await stage.serve(stack, { keyPath, register: name })
  const all = [first, second, third]
  await Promise.all(all.map((one) => one.call('whoami')))
  const waits = all.map((one) => one.call('wait_for_messages', { timeout_seconds: 55 }))
  const listensBy = async (): Promise<string[]> =>
    (await Promise.all(all.map(async (one) => (await one.call('whoami')).listens_by))).toSorted()
  await eventually(async () => expect(await listensBy()).toEqual(['shared', 'shared', 'stream']))
  const sender = await stage.agent()
  const { msg_id } = await sender.client.send({ to: name, body: 'for all of you' })
  for (const { messages } of await Promise.all(waits)) expect(messages).toMatchObject([{ message_id: msg_id }])
  // Each process continues after the messages that it showed.
  for (const one of all) expect((await one.call('wait_for_messages', { timeout_seconds: 0 })).messages).toEqual([])
})

test('if both streams of the agent are taken, it polls', async () => {
  await using stack = new AsyncDisposableStack()
  const alice = await stage.serve(stack)
  const client = new AgentClient({ url: stage.url, key: readKeyFile(alice.keyPath) })
  const ended = new AbortController()
  stack.defer(() => ended.abort())
  let open = 0
  for (const _ of [1, 2]) {
    const onOpen = (): void => {
      open += 1
    }
    void client
      .stream({ signal: ended.signal, onOpen })
      .next()
      .catch(() => undefined)
  }
  await eventually(() => open === 2)
  const arriving = alice.call('wait_for_messages', { timeout_seconds: 55 })
  await eventually(async () => (await alice.call('whoami')).listens_by === 'poll')
  const sender = await stage.agent()
  await sender.client.send({ to: alice.name, body: 'by poll' })
  expect((await arriving).messages).toHaveLength(1)
})

describe('a wait', () => {
  test('reports progress, and ends when the client cancels it', async () => {
    await using stack = new AsyncDisposableStack()
    const alice = await stage.serve(stack)
    const cancelled = new AbortController()
    const progress: unknown[] = []
    const waiting = alice.client.callTool(
      { name: 'wait_for_messages', arguments: { timeout_seconds: 600 } },
      { signal: cancelled.signal, onprogress: (update) => progress.push(update) },
    )
    const ended = expect(waiting).rejects.toThrow()
    await eventually(() => progress.length > 0)
    cancelled.abort()
    await ended
    await eventually(() => alice.log().includes('"name":"wait_for_messages","outcome":"cancelled"'))
  })

  test('delivers messages again if the client never received them', async () => {
    await using stack = new AsyncDisposableStack()
    const alice = await stage.serve(stack)
    await alice.call('whoami')
    const sender = await stage.agent()
    const { msg_id } = await sender.client.send({ to: alice.name, body: 'once' })
    expect((await alice.call('wait_for_messages', { timeout_seconds: 30 })).messages).toHaveLength(1)
    // Another process, as after a crash. The first process does not know whether its result was read.
    const { keyPath, name } = alice
    const again = await stage.serve(stack, { keyPath, register: name })
    expect((await again.call('wait_for_messages', { timeout_seconds: 30 })).messages).toMatchObject([
      { message_id: msg_id },
    ])
    expect((await again.call('wait_for_messages', { timeout_seconds: 0 })).messages).toEqual([])
  })

  test("for an answer does not end with a message of the agent's own", async () => {
    await using stack = new AsyncDisposableStack()
    const { call, name } = await stage.serve(stack)
    const { message_id } = await call('send_message', { to: name, body: 'a note' })
    await call('send_message', { to: name, body: 'one more', reply_to: message_id })
    const wait = { timeout_seconds: 0, after: 0 }
    expect((await call('wait_for_messages', wait)).messages).toMatchObject([
      { from: { you: true } },
      { from: { you: true } },
    ])
    expect((await call('wait_for_messages', { ...wait, reply_to: message_id })).messages).toEqual([])
  })

  test('for an answer that does not come says how to keep waiting, and finds the answer later', async () => {
    await using stack = new AsyncDisposableStack()
    const alice = await stage.serve(stack)
    const bob = await stage.agent()
    const asked = await alice.call('send_and_wait', { to: bob.name, body: '?', timeout_seconds: 0 })
    expect(asked).toMatchObject({ answered: false, answer: null })
    const id = asked.sent.message_id
    expect(asked.how_to_go_on).toContain(`reply_to ${id}`)
    await bob.client.send({ to: alice.name, body: '!', type: 'response', replyTo: id, threadId: id })
    const { messages } = await alice.call('wait_for_messages', { reply_to: id, timeout_seconds: 30 })
    expect(messages).toMatchObject([{ reply_to: id, type: 'response' }])
  })
})

describe('resources', () => {
  test('a client with a session and a subscription is notified when mail arrives', async () => {
    await using stack = new AsyncDisposableStack()
    const alice = await stage.serve(stack, { way: 'http' })
    const told: string[] = []
    alice.client.setNotificationHandler('notifications/resources/updated', ({ params }) => void told.push(params.uri))
    await alice.client.subscribeResource({ uri: 'svc://requests' })
    await eventually(async () => (await alice.call('whoami')).listens_by === 'stream')
    told.length = 0
    const sender = await stage.agent()
    await sender.client.send({ to: alice.name, body: 'news' })
    await eventually(() => told.includes('svc://requests'))
    await alice.client.unsubscribeResource({ uri: 'svc://requests' })
  })

  test('a client of 2026-07-28 is notified of its subscriptions, over HTTP and over stdio', async () => {
    await using stack = new AsyncDisposableStack()
    const folder = stack.use(temporaryFolder())
    const args = ['--key', folder.path('key'), '--url', stage.url, '--register', 'stdio-listener']
    const overPipes = Object.assign(stack.use(await overStdio('stdio 2026', args)), { name: 'stdio-listener' })
    for (const alice of [await stage.serve(stack), overPipes]) {
      const told: string[] = []
      alice.client.setNotificationHandler('notifications/resources/updated', ({ params }) => void told.push(params.uri))
      const subscription = await alice.client.listen({ resourceSubscriptions: ['svc://requests'] })
      await eventually(async () => (await alice.call('whoami')).listens_by === 'stream')
      told.length = 0
      const sender = await stage.agent()
      await sender.client.send({ to: alice.name, body: 'news' })
      await eventually(() => told.includes('svc://requests'))
      expect(new Set(told)).toEqual(new Set(['svc://requests']))
      await subscription.close()
    }
  })

  test('inbox, requests, boards and messages can be read, and are fenced', async () => {
    await using stack = new AsyncDisposableStack()
    const alice = await stage.serve(stack)
    const bob = await stage.agent()
    const { id } = await bob.client.createBoard({ title: 'Board of Bob', visibility: 'public' })
    const { msg_id } = await bob.client.send({ to: alice.name, body: 'a request' })
    const { resources } = await alice.client.listResources()
    // The list has the first boards only, and other tests make boards too.
    expect(resources.map(({ uri }) => uri)).toEqual(
      expect.arrayContaining(['svc://inbox', 'svc://requests', expect.stringMatching(/^svc:\/\/boards\/./)]),
    )
    const read = async (uri: string): Promise<string> => JSON.stringify(await alice.client.readResource({ uri }))
    expect(await read('svc://inbox')).toContain('messages: none')
    expect(await read('svc://requests')).toMatch(/[0-9a-f]{16}\| a request/)
    expect(await read(`svc://messages/${msg_id}`)).toMatch(/[0-9a-f]{16}\| a request/)
    expect(await read(`svc://boards/${id}`)).toMatch(/[0-9a-f]{16}\| Board of Bob/)
    await expect(read('svc://boards/..%2f..%2fme')).rejects.toThrow()
    await expect(read('svc://messages/..%2f..%2fv2%2fme')).rejects.toThrow()
  })
})

test('a long text is read in parts, and a list page by page', async () => {
  await using stack = new AsyncDisposableStack()
  const alice = await stage.serve(stack, { resultCharacters: 1_000 })
  const bob = await stage.agent()
  await alice.call('whoami')
  await alice.call('find_agent', { name: bob.name })
  await alice.call('accept_contact', { agent: bob.name })
  const long = `${'😀'.repeat(1_500)}end`
  const { msg_id } = await bob.client.send({ to: alice.name, body: long })
  await bob.client.send({ to: alice.name, body: 'second' })
  let offset: number | null = 0
  let whole = ''
  while (offset !== null) {
    const { message, fence }: Fields = await alice.call('read_message', { message_id: msg_id, offset })
    whole += message.text
      .split('\n')
      .slice(1, -1)
      .map((line: string) => line.slice(`${fence}| `.length))
      .join('\n')
    offset = message.next_offset
  }
  expect(whole).toBe(long)
  const page = await alice.call('check_inbox', { limit: 1 })
  expect(page.messages[0]).toMatchObject({ message_id: msg_id, next_offset: 100 })
  const rest = await alice.call('check_inbox', { limit: 5, cursor: page.next_cursor })
  expect(rest).toMatchObject({ messages: [{ characters: 6 }], next_cursor: null })
  expect(textOf(await alice.result('check_inbox', { cursor: 'elsewhere' }))).toMatch(/^invalid_cursor: /)
})
