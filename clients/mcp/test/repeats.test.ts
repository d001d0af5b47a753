/** Calls that a client repeats because it does not know what has become of the first call. */
import { readFileSync } from 'node:fs'
import { parseKey } from '@svc/sdk/keys.ts'
import { clientOf, collect, registered, type Service, startService, uniqueName } from '@svc/sdk/test/agents.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { beforeAll, expect, test } from 'vitest'
import { type Fields, overStdio, type TestClient, temporaryFolder, textOf } from './scene.ts'

const POST = 'POST /v2/messages'

// The time of a test does not include the start of the shared system.
beforeAll(async () => {
  const service = await startService()
  return () => service[Symbol.asyncDispose]()
})

interface Scene {
  readonly service: Service
  readonly alice: TestClient & { kill(): void }
  /** Starts another process with the same key and the same state folder. */
  restart(): Promise<TestClient & { kill(): void }>
}

/** A way in which a client loses the result of a call. @returns the client that repeats the call. */
type Loss = (scene: Scene, tool: string, args: Fields) => Promise<Scene['alice']>

/** Resolves when the message has been accepted, and its sender waits for an answer that does not come. */
async function untilAnswerIsLost(service: Service, begin: () => void): Promise<void> {
  service.meet(POST, { kind: 'lose' }, { kind: 'hang' })
  const posted = (): number => service.requests.filter(({ method, target }) => `${method} ${target}` === POST).length
  const before = posted()
  begin()
  await eventually(() => posted() === before + 2)
}

const ALL = ['send_message', 'send_and_wait', 'reply', 'post']
const LOSSES: readonly (readonly [string, readonly string[], Loss])[] = [
  [
    // The client sends nothing when its timeout ends, so the server cannot know.
    'the client did not wait for the result',
    ALL,
    async ({ alice }, tool, args) => {
      await alice.call(tool, args)
      return alice
    },
  ],
  [
    'the client cancelled the call',
    ALL,
    async ({ alice, service }, tool, args) => {
      const cancelled = new AbortController()
      let ended: Promise<unknown> = Promise.resolve()
      await untilAnswerIsLost(service, () => {
        const options = { signal: cancelled.signal }
        ended = alice.client.callTool({ name: tool, arguments: args }, options).catch(() => undefined)
      })
      cancelled.abort()
      await ended
      return alice
    },
  ],
  [
    'the client and its server died after the result',
    ['send_message'],
    async ({ alice, restart }, tool, args) => {
      await alice.call(tool, args)
      alice.kill()
      return restart()
    },
  ],
  [
    'the server died before the result',
    ['post'],
    async ({ alice, service, restart }, tool, args) => {
      await untilAnswerIsLost(service, () => void alice.result(tool, args).catch(() => undefined))
      alice.kill()
      return restart()
    },
  ],
]

test.each(LOSSES)('spec 7.4: a repeated call sends no second message if %s', async (_, tools, lose) => {
  await using stack = new AsyncDisposableStack()
  const service = stack.use(await startService())
  const folder = stack.use(temporaryFolder())
  const name = uniqueName('alice')
  const [bob] = await registered(service, 'bob')
  const { id: board_id } = await bob.createBoard({ title: 'open', visibility: 'public', posting: 'anyone' })
  const options = ['--key', folder.path('key'), '--url', service.url, '--register', name, '--allow-strangers']
  const restart = async () => stack.use(await overStdio('stdio', [...options, '--max-units', '200']))
  let alice = await restart()
  const { agent_id } = await alice.call('whoami')
  await bob.setContact(agent_id, 'accepted')
  const { msg_id } = await bob.send({ to: name, body: 'hello' })
  await alice.call('find_agent', { name: bob.name })
  const calls: Fields = {
    send_message: { to: bob.name, body: 'once' },
    send_and_wait: { to: bob.name, body: 'once', timeout_seconds: 0 },
    reply: { message_id: msg_id, body: 'once' },
    post: { board_id, body: 'once' },
  }
  const mine = clientOf(service, { key: parseKey(readFileSync(folder.path('key'), 'utf8')) })
  const expected: string[] = []
  for (const tool of tools) {
    const args = calls[tool]
    alice = await lose({ service, alice, restart }, tool, args)
    const result = await alice.call(tool, args)
    const receipt = result.sent ?? result
    expect(receipt).toMatchObject({
      duplicate: true,
      cost_units: 0,
      note: expect.stringMatching(/sent before, at 20/),
    })
    expected.push(receipt.message_id)
    // A new id says that a second message is meant.
    const next = uniqueName(`second-${tool}`)
    const own = { [tool === 'reply' ? 'reply_id' : 'message_id']: next }
    const second = await alice.call(tool, { ...args, ...own })
    expect(second.sent ?? second).toMatchObject({ duplicate: false, message_id: next, note: null })
    expected.push(next)
  }
  const sent = (await collect(mine.export())).filter(({ envelope }) => envelope.from === `${name}@${service.authority}`)
  expect(sent.map(({ envelope }) => envelope.id)).toEqual(expected)
})

test('spec 7.4: a message whose answers were all lost is sent once when the model calls again', async () => {
  await using stack = new AsyncDisposableStack()
  const service = stack.use(await startService())
  const folder = stack.use(temporaryFolder())
  const name = uniqueName('alice')
  const [bob] = await registered(service, 'bob')
  const options = ['--key', folder.path('key'), '--url', service.url, '--register', name, '--allow-strangers']
  const alice = stack.use(await overStdio('stdio', options))
  const message = { to: bob.name, body: 'once' }
  service.meet(POST, ...Array.from({ length: 7 }, () => ({ kind: 'lose' }) as const))
  const lost = textOf(await alice.result('send_message', message))
  expect(lost).toMatch(/^no_answer: .* message_id [\w-]+: that is the same message/)
  const { duplicate, cost_units, message_id } = await alice.call('send_message', message)
  expect([duplicate, cost_units]).toEqual([true, 0])
  expect(lost).toContain(message_id)
})

test('a call that is repeated after its message has expired gives that message, and sends no second one', {
  timeout: 60_000,
}, async () => {
  await using stack = new AsyncDisposableStack()
  const service = stack.use(await startService())
  const folder = stack.use(temporaryFolder())
  const name = uniqueName('alice')
  const [bob] = await registered(service, 'bob')
  const options = ['--key', folder.path('key'), '--url', service.url, '--register', name, '--allow-strangers']
  const alice = stack.use(await overStdio('stdio', options))
  // Long enough to be accepted on a busy machine.
  const message = { to: bob.name, body: 'once', ttl_seconds: 10 }
  const { message_id, duplicate } = await alice.call('send_message', message)
  expect(duplicate).toBe(false)
  await eventually(async () => (await alice.result('read_message', { message_id })).isError === true, {
    timeoutMs: 40_000,
  })
  expect(await alice.call('send_message', message)).toMatchObject({
    message_id,
    duplicate: true,
    cost_units: 0,
    used_units_today: 1,
    note: expect.stringMatching(/sent before, at 20\S+, and has expired since, so/),
  })
})

test.each(['envelope_timestamp_out_of_range', 'expired'] as const)(
  'spec 7.4: an envelope that the service never accepted (%s) is signed anew under the same id',
  { timeout: 120_000 },
  async (code) => {
    await using stack = new AsyncDisposableStack()
    const service = stack.use(await startService())
    const folder = stack.use(temporaryFolder())
    const [bob] = await registered(service, 'bob')
    const name = uniqueName('alice')
    const options = ['--key', folder.path('key'), '--url', service.url, '--register', name, '--allow-strangers']
    const alice = stack.use(await overStdio('stdio', options))
    service.meet(POST, { kind: 'refuse', code })
    const sent = await alice.call('send_message', { to: bob.name, body: 'once', ttl_seconds: 60 })
    const posts = service.requests.filter(({ method, target }) => `${method} ${target}` === POST)
    const envelopes = posts.map(({ body }) => JSON.parse(body) as { id: string })
    expect(envelopes.map(({ id }) => id)).toEqual([sent.message_id, sent.message_id])
    expect(new Set(envelopes.map((envelope) => JSON.stringify(envelope))).size).toBe(2)
  },
)
