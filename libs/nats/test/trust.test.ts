/** What another process on NATS may send, whoever it is. */
import { Type } from '@sinclair/typebox'
import { defineCall, defineTextCall } from '@svc/contracts/define.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import { startTestNats, type TestNats } from '@svc/test/support/engines/engines.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { headers, type Msg } from 'nats'
import { expect, test } from 'vitest'
import { createBus } from '../src/bus.ts'
import { createChannel } from '../src/channel.ts'
import { connectNats, drainNats, type Nats } from '../src/connect.ts'
import { type Endpoint, handle, handleText, serve } from '../src/serve.ts'
import { encodeRequest } from '../src/wire/frames.ts'

type NatsUser = Parameters<TestNats['urlFor']>[0]

const logger = createLogger('test', 'silent')
const value = Type.Object({ value: Type.Integer() })
const isDouble = (asked: { value: number }, reply: { value: number }): boolean => reply.value === asked.value * 2
const doubleAt = (service: string) =>
  defineCall({ subject: `svc.${service}.double`, request: value, reply: value, isAnswerTo: isDouble })
const context = () => ({ traceparent: newTraceparent(), deadlineMs: Date.now() + 5_000 })

async function startHarness() {
  const stack = new AsyncDisposableStack()
  const server = stack.use(await startTestNats())
  const connect = async (user: NatsUser): Promise<Nats> =>
    stack.adopt(await connectNats({ url: server.urlFor(user), name: 'test', logger }), (nats) => drainNats(nats, 500))
  return {
    connect,
    bus: stack.use(createBus(await connect('gateway'))),
    /** Serves with the login of this user. */
    async serve(user: NatsUser, endpoints: Endpoint[]) {
      const nats = await connect(user)
      return await serve({ nats, name: user, version: '2.0.0', logger, endpoints })
    },
    /** @returns the messages that arrive for this user. */
    async listen(user: NatsUser, subject: string): Promise<{ nats: Nats; heard: Msg[] }> {
      const nats = await connect(user)
      const heard: Msg[] = []
      nats.connection.subscribe(subject, { callback: (_error, message) => heard.push(message) })
      await nats.connection.flush()
      return { nats, heard }
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

test('a service that was called cannot answer a call to another service', async () => {
  await using h = await startHarness()
  const taken = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  await h.serve('budget', [
    handle(doubleAt('budget'), async ({ value: asked }) => {
      taken.resolve()
      await gate.promise
      return { value: asked * 2 }
    }),
  ])
  const { nats: hostile, heard } = await h.listen('boards', 'svc.boards.>')
  void h.bus.call(doubleAt('boards'), { value: 1 }, context()).catch(() => {})
  const asked = h.bus.call(
    defineCall({ subject: 'svc.budget.double', request: value, reply: value }),
    { value: 1 },
    context(),
  )
  await taken.promise
  await eventually(() => heard.length === 1)
  for (const { reply = '' } of heard)
    for (const guess of guessesFrom(reply)) hostile.connection.publish(guess, '0+{"value":666}')
  await hostile.connection.flush()
  gate.resolve()
  expect(await asked).toEqual({ value: 2 })
})

/** The subjects that a process might try after it has seen one of them. */
function guessesFrom(reply: string): string[] {
  const tokens = reply.split('.')
  const last = Number(tokens.at(-1))
  const next = Array.from({ length: 20 }, (_, at) => [...tokens.slice(0, -1), last + at - 10].join('.'))
  const elsewhere = tokens.map((_, at) => tokens.with(at, 'budget').join('.'))
  return [reply, ...next, ...elsewhere].filter((subject) => !subject.startsWith('budget'))
}

test('an answer that belongs to another request is internal', async () => {
  await using h = await startHarness()
  const page = defineTextCall({ subject: 'svc.budget.page', request: value, meta: value, isAnswerTo: isDouble })
  await h.serve('budget', [
    handle(doubleAt('budget'), async () => ({ value: 4 })),
    handleText(page, async () => ({ meta: { value: 4 }, text: '' })),
  ])
  expect(await h.bus.call(doubleAt('budget'), { value: 2 }, context())).toEqual({ value: 4 })
  await expect(h.bus.call(doubleAt('budget'), { value: 1 }, context())).rejects.toMatchObject({ code: 'internal' })
  expect(await h.bus.callText(page, { value: 2 }, context())).toEqual({ meta: { value: 4 }, text: '' })
  await expect(h.bus.callText(page, { value: 1 }, context())).rejects.toMatchObject({ code: 'internal' })
})

test('a service does nothing, and publishes nothing, if its answer would not go to an inbox', async () => {
  await using h = await startHarness()
  const worked: number[] = []
  await h.serve('messaging', [
    handle(doubleAt('messaging'), async ({ value: asked }) => {
      worked.push(asked)
      return { value: asked * 2 }
    }),
  ])
  const { nats: listener, heard } = await h.listen('stream', 'accepted.>')
  const [gateway, admin] = [await h.connect('gateway'), await h.connect('admin')]
  const line = encodeRequest({ value: 1 }, context())
  for (const reply of ['accepted.agent.inbox', '$JS.API.STREAM.UPDATE.ACCEPTED', 'svc.budget.settle', undefined]) {
    const options = reply === undefined ? {} : { reply }
    gateway.connection.publish('svc.messaging.double', line, options)
    for (const subject of ['$SRV.PING', '$SRV.INFO.messaging', '$SRV.STATS'])
      admin.connection.publish(subject, '', options)
  }
  await Promise.all([gateway.connection.flush(), admin.connection.flush()])
  expect(await h.bus.call(doubleAt('messaging'), { value: 2 }, context())).toEqual({ value: 4 })
  await listener.connection.flush()
  expect([worked, heard.map(({ subject }) => subject)]).toEqual([[2], []])
})

test('a channel answers only to an inbox, and hears no message that a stream republishes', async () => {
  await using h = await startHarness()
  const { nats: gateway, heard } = await h.listen('gateway', 'svc.gateway.elsewhere')
  const channel = createChannel(gateway)
  const got: unknown[] = []
  channel.subscribe('svc.gateway.test', (asked, respond) => {
    got.push(asked)
    respond('an answer')
  })
  await channel.flush()
  const other = await h.connect('gateway')
  other.connection.publish('svc.gateway.test', '1', { reply: 'svc.gateway.elsewhere' })
  const republished = headers()
  republished.set('Nats-Stream', 'ACCEPTED')
  other.connection.publish('svc.gateway.test', '2', { headers: republished })
  expect(await createChannel(other).request('svc.gateway.test', 3, 5_000)).toBe('an answer')
  expect([got, heard.map((message) => message.string())]).toEqual([[1, 3], []])
})
