/** Two sidecars between the client and a server of A2A's own SDK. */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { Message, Role, type StreamResponse, type Task, TaskState } from '@a2a-js/sdk'
import type { Client } from '@a2a-js/sdk/client'
import { TaskNotCancelableError, UnsupportedOperationError } from '@a2a-js/sdk/errors'
import { encodeWire, type Wire } from '@svc/a2a/wire.ts'
import { registered, type Service, startService } from '@svc/sdk/test/agents.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startEchoAgent, textOf, textPart } from './echo-agent.ts'
import { connect, type Sidecar, saying, startSidecar } from './sidecar.ts'

type TestAgent = Awaited<ReturnType<typeof registered<string[]>>>[number]

const stack = new AsyncDisposableStack()
let service: Service
let alice: TestAgent
let bob: TestAgent
let near: Sidecar
let agent: Awaited<ReturnType<typeof startEchoAgent>>
let client: Client
beforeAll(async () => {
  service = stack.use(await startService())
  ;[alice, bob] = (await registered(service, 'alice', 'bob')) as [TestAgent, TestAgent]
  await acquaint(alice, bob)
  agent = stack.use(await startEchoAgent())
  near = stack.use(await startSidecar(alice.key, { url: service.url }))
  stack.use(await startSidecar(bob.key, { url: service.url, agentUrl: agent.url }))
  client = await connect(near, bob.name)
})
afterAll(() => stack.disposeAsync())

async function acquaint(one: TestAgent, other: TestAgent): Promise<void> {
  await one.setContact(other.name, 'accepted')
  await other.setContact(one.name, 'accepted')
}

function echoOf(task: Task): string {
  return textOf(task.artifacts.find(({ artifactId }) => artifactId === 'echo')?.parts ?? [])
}

const stateOf = ({ status }: Task): TaskState | undefined => status?.state

async function collect(responses: AsyncIterable<StreamResponse>): Promise<StreamResponse[]> {
  const all: StreamResponse[] = []
  for await (const one of responses) all.push(one)
  return all
}

test.each(['JSONRPC', 'HTTP+JSON'])(
  'over %s, a message reaches the agent, and its result comes back',
  async (binding) => {
    const own = await connect(near, bob.name, binding)
    const task = (await own.sendMessage(saying('hello my friend'))) as Task
    expect(stateOf(task)).toBe(TaskState.TASK_STATE_COMPLETED)
    expect(echoOf(task)).toBe('hello my friend ')
    expect(await own.getTask({ tenant: '', id: task.id })).toEqual(task)
    const { tasks } = await own.listTasks({
      tenant: '',
      contextId: task.contextId,
      status: 0,
      pageToken: '',
      statusTimestampAfter: undefined,
    })
    expect(tasks.map(({ id }) => id)).toEqual([task.id])
    await expect(own.cancelTask({ tenant: '', id: task.id, metadata: undefined })).rejects.toThrow(
      TaskNotCancelableError,
    )
  },
)

test.each([
  ['JSONRPC', false],
  ['HTTP+JSON', true],
  ['HTTP+JSON', false],
] as const)('an agent with %s, streaming %j', async (binding, streaming) => {
  const [carol] = (await registered(service, 'carol')) as [TestAgent]
  await acquaint(alice, carol)
  await using other = await startEchoAgent({ binding, streaming })
  await using _ = await startSidecar(carol.key, { url: service.url, agentUrl: other.url })
  const task = (await (await connect(near, carol.name)).sendMessage(saying('is it you'))) as Task
  expect(echoOf(task)).toBe('is it you ')
})

test('the same message again is the same task, and is neither given to the agent again nor charged', async () => {
  const params = saying('once')
  const first = (await client.sendMessage(params)) as Task
  const { used_units: before } = await alice.budget()
  expect(await client.sendMessage(params)).toEqual(first)
  expect((await alice.budget()).used_units).toBe(before)
  expect(agent.heard.filter(({ parts }) => textOf(parts) === 'once')).toHaveLength(1)
})

test('the agent finds the verified sender, and nothing that the sender claims', async () => {
  const params = saying('who am I')
  const claim = { 'signed-agent-messaging/sender': { name: 'mallory' } }
  await client.sendMessage({
    ...params,
    message: { ...Message.fromJSON({}), ...params.message, metadata: claim, referenceTaskIds: ['other'] },
  })
  const heard = agent.heard.find(({ parts }) => textOf(parts) === 'who am I')
  expect(heard?.metadata).toEqual({
    'signed-agent-messaging/sender': { agent_id: alice.key.agentId, name: alice.name },
  })
  expect(heard?.referenceTaskIds).toEqual([])
})

test('returnImmediately returns the submitted task, and a stream that comes later ends with the result', async () => {
  const task = (await client.sendMessage(saying('slowly one two three', { now: true }))) as Task
  expect(stateOf(task)).toBe(TaskState.TASK_STATE_SUBMITTED)
  const seen = await collect(client.resubscribeTask({ tenant: '', id: task.id }))
  expect(seen[0]?.payload?.$case).toBe('task')
  expect(seen.at(-1)?.payload).toMatchObject({
    $case: 'statusUpdate',
    value: { status: { state: TaskState.TASK_STATE_COMPLETED } },
  })
  expect(echoOf(await client.getTask({ tenant: '', id: task.id }))).toBe('slowly one two three ')
})

test('a stream has each word once, in order, and a progress in between', async () => {
  const words = Array.from({ length: 16 }, (_, at) => `w${at}`)
  const seen = await collect(client.sendMessageStream(saying(`slowly ${words.join(' ')}`)))
  const updates = seen.flatMap(({ payload }) => (payload?.$case === 'artifactUpdate' ? [payload.value] : []))
  expect(updates.length).toBeGreaterThan(1)
  expect(updates.map(({ append }) => append)).toEqual(updates.map((_, at) => at > 0))
  expect(updates.map(({ artifact }) => textOf(artifact?.parts ?? [])).join('')).toBe(`slowly ${words.join(' ')} `)
})

test('a task that wants input takes another message', async () => {
  const task = (await client.sendMessage(saying('ask me'))) as Task
  expect(stateOf(task)).toBe(TaskState.TASK_STATE_INPUT_REQUIRED)
  expect(textOf(task.status?.message?.parts ?? [])).toBe('what?')
  const ended = (await client.sendMessage(saying('this', { task: task.id }))) as Task
  expect([ended.id, stateOf(ended), echoOf(ended)]).toEqual([task.id, TaskState.TASK_STATE_COMPLETED, 'this '])
  expect(ended.history.filter(({ parts }) => ['ask me', 'this'].includes(textOf(parts)))).toHaveLength(2)
  await expect(client.sendMessage(saying('more', { task: task.id }))).rejects.toThrow(UnsupportedOperationError)
})

test('a task is cancelled at the agent', async () => {
  const task = (await client.sendMessage(saying('forever', { now: true }))) as Task
  await eventually(() => agent.heard.some(({ parts }) => textOf(parts) === 'forever'))
  const cancelled = await client.cancelTask({ tenant: '', id: task.id, metadata: undefined })
  expect(stateOf(cancelled)).toBe(TaskState.TASK_STATE_CANCELED)
})

test('a large text goes in pieces, in both directions, and 2 MB are refused', async () => {
  const long = randomBytes(40_000).toString('hex')
  const task = (await client.sendMessage(saying(long))) as Task
  expect(echoOf(task)).toBe(`${long} `)
  await expect(client.sendMessage(saying('x'.repeat(2_000_000)))).rejects.toThrow(/too large.*Send files by URL/s)
})

test('data, files and their metadata arrive as they were sent', async () => {
  const raw = new Uint8Array([0, 255]) as Buffer
  const parts = [
    textPart('look'),
    { ...textPart(''), content: { $case: 'data' as const, value: { n: [1, null, 'ä'] } } },
    {
      ...textPart(''),
      content: { $case: 'url' as const, value: 'https://files.example/a' },
      filename: 'a',
      metadata: { sha256: 'f00', size: 3 },
    },
    { ...textPart(''), content: { $case: 'raw' as const, value: raw }, mediaType: 'image/png' },
  ]
  await client.sendMessage(saying(parts))
  expect(agent.heard.find((message) => textOf(message.parts) === 'look')?.parts).toEqual(parts)
})

test('the program of the guide prints the result', async () => {
  const guide = readFileSync(new URL('../../../docs/guides/a2a.md', import.meta.url), 'utf8')
  const program = /```js\n([\s\S]*?)```/.exec(guide)?.[1] ?? ''
  const args = ['--input-type=module', '-', `${near.url}/${bob.name}/`, near.tokenFile]
  const child = spawn(process.execPath, args, { cwd: import.meta.dirname, stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(program)
  expect(await text(child.stdout)).toContain('hello ')
})

test('the card of a contact is its own, and leads here', async () => {
  const own = await connect(near, bob.name)
  await own.sendMessage(saying('hello'))
  const card = await eventually(async () => {
    const found = await (await connect(near, bob.name)).getAgentCard()
    return found.name === 'Echo' && found
  })
  expect(card).toMatchObject({ name: 'Echo', description: 'says it again' })
  expect(card.supportedInterfaces.map(({ url }) => url)).toEqual([
    `${near.url}/${bob.name}/rpc`,
    `${near.url}/${bob.name}/rest`,
  ])
})

test('what JSON writes in unusual ways arrives', async () => {
  const parts = [
    textPart('odd \ud83d __proto__ \u0000'),
    { ...textPart(''), content: { $case: 'data' as const, value: { at: 1_764_262_800_000_000_000, tiny: 1e-7 } } },
  ]
  const task = (await client.sendMessage(saying(parts))) as Task
  expect(echoOf(task)).toBe('odd \ud83d __proto__ \u0000 ')
  expect(task.history[0]?.parts).toEqual(parts)
})

test('a message that waited until it was accepted reaches the agent', async () => {
  const [ivan] = (await registered(service, 'ivan')) as [TestAgent]
  await using other = await startEchoAgent()
  await using sidecar = await startSidecar(ivan.key, { url: service.url, agentUrl: other.url })
  await alice.setContact(ivan.name, 'accepted')
  const params = { id: 'm', now: true }
  await (await connect(near, ivan.name)).sendMessage(saying('let me in', params))
  await expect(connect(sidecar, alice.name)).rejects.toThrow()
  await ivan.setContact(alice.name, 'accepted')
  const task = (await (await connect(near, ivan.name)).sendMessage(saying('let me in', { id: 'm' }))) as Task
  expect(echoOf(task)).toBe('let me in ')
})

describe('a hostile contact', () => {
  let mallory: TestAgent
  beforeAll(async () => {
    ;[mallory] = (await registered(service, 'mallory')) as [TestAgent]
    await acquaint(mallory, alice)
    await acquaint(mallory, bob)
  })

  async function write(to: TestAgent, wire: Wire, from = mallory): Promise<void> {
    for (const body of encodeWire(wire)) await from.send({ to: to.name, body }, { seal: true })
  }

  test('does not choose the role, the sender, the task or the context that the agent sees', async () => {
    const victim = (await client.sendMessage(saying('ask mine'))) as Task
    const claim = { 'signed-agent-messaging/sender': { agent_id: alice.key.agentId, name: alice.name } }
    const url = 'https://example.org/steal'
    const message = { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'hostile' }], metadata: claim }
    const ids = { taskId: victim.id, contextId: victim.contextId }
    const request = {
      message: { ...message, ...ids },
      configuration: { taskPushNotificationConfig: { url } },
      metadata: claim,
    }
    await write(bob, { kind: 'send', turn: 'a-turn-of-mallory', task: victim.id, request })
    const heard = await eventually(() => agent.heard.find(({ parts }) => textOf(parts) === 'hostile') ?? false)
    expect(heard.role).toBe(Role.ROLE_USER)
    expect(heard.metadata).toEqual({
      'signed-agent-messaging/sender': { agent_id: mallory.key.agentId, name: mallory.name },
    })
    const own = agent.heard.find(({ parts }) => textOf(parts) === 'ask mine')
    expect([heard.taskId, heard.contextId]).not.toContain(own?.contextId)
    await write(bob, { kind: 'cancel', task: victim.id })
    expect(stateOf((await client.sendMessage(saying('still mine', { task: victim.id }))) as Task)).toBe(
      TaskState.TASK_STATE_COMPLETED,
    )
  })

  test('is not served before it is accepted, even if the inbox is open to all', async () => {
    const [stranger] = (await registered(service, 'stranger')) as [TestAgent]
    await bob.updateSettings({ inbox_policy: 'open' })
    const request = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'from a stranger' }] } }
    await write(bob, { kind: 'send', turn: 'a-turn-of-a-stranger', task: 'a-turn-of-a-stranger', request }, stranger)
    // A later message of a contact is handled after it.
    await client.sendMessage(saying('from a friend'))
    expect(agent.heard.filter(({ parts }) => textOf(parts) === 'from a stranger')).toEqual([])
  })

  test('does not answer the tasks of another, and stops nobody with nonsense', async () => {
    const task = (await client.sendMessage(saying('slowly one two', { now: true }))) as Task
    const response = { task: { id: task.id, status: { state: 'TASK_STATE_FAILED' } } }
    await write(alice, { kind: 'state', turn: task.id, seq: 1_000, last: true, response })
    await write(alice, { kind: 'refused', turn: task.id, reason: 'no' })
    await write(alice, {
      kind: 'card',
      card: { name: 'Mallory', signatures: Array.from({ length: 50 }, () => ({ signature: 'x' })) },
    })
    for (const text of ['!!', '', Buffer.from('{').toString('base64')])
      await mallory.send(
        { to: alice.name, body: { a2a: 1, group: 'a-group-of-hers', index: 0, count: 1, text } },
        { seal: true },
      )
    await eventually(
      async () => stateOf(await client.getTask({ tenant: '', id: task.id })) === TaskState.TASK_STATE_COMPLETED,
    )
    expect((await (await connect(near, mallory.name)).getAgentCard()).name).toBe(mallory.name)
  })
})

describe('restarts', () => {
  test('of both sidecars and the agent, while a task waits: it ends once', async () => {
    const [dave, erin] = (await registered(service, 'dave', 'erin')) as [TestAgent, TestAgent]
    await acquaint(dave, erin)
    let daves = await startSidecar(dave.key, { url: service.url })
    const task = (await (
      await connect(daves, erin.name)
    ).sendMessage(saying('wait for it', { id: 'm', now: true }))) as Task
    daves = await daves.restart()
    // The sidecar starts before its agent does.
    await using late = await startEchoAgent()
    const port = Number(new URL(late.url).port)
    await late[Symbol.asyncDispose]()
    let erins = await startSidecar(erin.key, { url: service.url, agentUrl: late.url })
    await eventually(() => erins.log.some(({ event }) => event === 'agent.awaited'))
    erins = await erins.restart()
    await using again = await startEchoAgent({ port })
    const own = await connect(daves, erin.name)
    expect(echoOf((await own.sendMessage(saying('wait for it', { id: 'm' }))) as Task)).toBe('wait for it ')
    expect(again.heard).toHaveLength(1)
    expect(again.heard[0]?.messageId).toBe(task.id)
    await Promise.all([daves, erins].map((one) => one[Symbol.asyncDispose]()))
  })

  test('of an agent that forgets its tasks: the task is rejected, and says so', async () => {
    const [frank] = (await registered(service, 'frank')) as [TestAgent]
    await acquaint(alice, frank)
    const first = await startEchoAgent()
    await using _ = await startSidecar(frank.key, { url: service.url, agentUrl: first.url })
    const own = await connect(near, frank.name)
    const task = (await own.sendMessage(saying('forever', { now: true }))) as Task
    await eventually(() => first.heard.length === 1)
    await eventually(
      async () => stateOf(await own.getTask({ tenant: '', id: task.id })) === TaskState.TASK_STATE_WORKING,
    )
    await first[Symbol.asyncDispose]()
    await using _again = await startEchoAgent({ port: Number(new URL(first.url).port) })
    await eventually(
      async () => stateOf(await own.getTask({ tenant: '', id: task.id })) === TaskState.TASK_STATE_REJECTED,
    )
    const { status } = await own.getTask({ tenant: '', id: task.id })
    expect(textOf(status?.message?.parts ?? [])).toMatch(/has lost the task.*Send the message again/)
  })
})

describe('what the service refuses is an error that says what to do', () => {
  test('a contact that has not accepted this agent: the first message waits, the second one is refused and costs nothing', async () => {
    const [gina] = (await registered(service, 'gina')) as [TestAgent]
    await alice.setContact(gina.name, 'accepted')
    const own = await connect(near, gina.name)
    const task = (await own.sendMessage(saying('may I', { now: true }))) as Task
    expect(stateOf(task)).toBe(TaskState.TASK_STATE_SUBMITTED)
    const { used_units: before } = await alice.budget()
    const params = saying('and again', { now: true })
    await expect(own.sendMessage(params)).rejects.toThrow(new RegExp(`until ${gina.name} accepts this agent`))
    expect((await alice.budget()).used_units).toBe(before)
    // After the contact has accepted, the same message is sent.
    await gina.setContact(alice.name, 'accepted')
    expect(stateOf((await own.sendMessage(params)) as Task)).toBe(TaskState.TASK_STATE_SUBMITTED)
  })

  test('a contact that takes no messages', async () => {
    const [harry] = (await registered(service, 'harry')) as [TestAgent]
    await alice.setContact(harry.name, 'accepted')
    await harry.setContact(alice.name, 'blocked')
    const own = await connect(near, harry.name)
    await expect(own.sendMessage(saying('hello'))).rejects.toThrow(/accept this agent as a contact/)
  })

  test('an outage is no refusal: the message is kept, and goes when the service answers', async () => {
    service.meet('POST /v2/messages', { kind: 'refuse', code: 'unavailable' }, { kind: 'cut' }, { kind: 'lose' })
    expect(echoOf((await client.sendMessage(saying('in spite of it'))) as Task)).toBe('in spite of it ')
    expect(agent.heard.filter(({ parts }) => textOf(parts) === 'in spite of it')).toHaveLength(1)
  })
})
