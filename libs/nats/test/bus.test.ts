import { Type } from '@sinclair/typebox'
import { defineCall, defineTextCall } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import { createLogger, describeError } from '@svc/telemetry/logger.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import { startTestNats } from '@svc/test/support/engines/engines.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { describe, expect, test } from 'vitest'
import { createBus } from '../src/bus.ts'
import { connectNats, drainNats } from '../src/connect.ts'
import { type Endpoint, handle, handleText, serve } from '../src/serve.ts'

const logger = createLogger('test', 'silent')
const double = defineCall({
  subject: 'svc.budget.double',
  request: Type.Object({ value: Type.Integer() }),
  reply: Type.Object({ value: Type.Integer() }),
})
const page = defineTextCall({
  subject: 'svc.budget.page',
  request: Type.Object({ characters: Type.Integer() }),
  meta: Type.Object({ count: Type.Integer() }),
})
const context = (timeoutMs = 5_000) => ({ traceparent: newTraceparent(), deadlineMs: Date.now() + timeoutMs })
const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'answered',
    (error: unknown) => (error instanceof ServiceError ? error.code : error),
  )

async function startHarness(endpoints: Endpoint[]) {
  const stack = new AsyncDisposableStack()
  const server = stack.use(await startTestNats())
  const connect = async (user: 'gateway' | 'budget') =>
    stack.adopt(await connectNats({ url: server.urlFor(user), name: 'test', logger }), (nats) => drainNats(nats))
  const bus = stack.use(createBus(await connect('gateway')))
  const nats = await connect('budget')
  const messages: number[] = []
  nats.connection.subscribe(double.subject, {
    callback: (_error, message) => messages.push(message.string().split('\n').length),
  })
  const serving = await serve({ nats, name: 'budget', version: '2.0.0', logger, endpoints })
  return { bus, serving, server, messages, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

const doubling = handle(double, async ({ value }) => {
  if (value < 0) throw new ServiceError('not_found')
  if (value === 0) throw new Error('of the service alone')
  return { value: value * 2 }
})

describe('a process whose user may not listen to all of its subjects', () => {
  const elsewhere = defineCall({ subject: 'svc.identity.double', request: Type.Object({}), reply: Type.Object({}) })

  test('does not report ready', async () => {
    await using server = await startTestNats()
    await using stack = new AsyncDisposableStack()
    const options = { url: server.urlFor('budget'), name: 'test', logger }
    const nats = stack.adopt(await connectNats(options), (one) => drainNats(one))
    const endpoints = [doubling, handle(elsewhere, async () => ({}))]
    const serving = serve({ nats, name: 'budget', version: '2.0.0', logger, endpoints })
    await expect(serving).rejects.toThrow('NATS does not let budget listen to all of its subjects')
  })

  test('a drain is not a failure', async () => {
    await using h = await startHarness([doubling])
    await h.serving.drain()
    expect(await Promise.race([h.serving.failed, h.serving.drain().then(() => 'drained')])).toBe('drained')
  })
})

describe('calls over NATS', () => {
  test('concurrent calls share messages, and each has its own answer', async () => {
    await using h = await startHarness([doubling])
    const values = Array.from({ length: 300 }, (_, index) => index - 1)
    const answers = await Promise.all(
      values.map((value) => h.bus.call(double, { value }, context()).catch((e) => e.code)),
    )
    expect(answers).toEqual(
      values.map((value) => (value < 0 ? 'not_found' : value === 0 ? 'internal' : { value: value * 2 })),
    )
    expect(h.messages.reduce((sum, items) => sum + items, 0)).toBe(300)
    expect(h.messages.length).toBeLessThan(30)
    expect(Math.max(...h.messages)).toBeLessThanOrEqual(128)
    expect(h.bus.inFlight).toBe(0)
  })

  test('a slow item delays no others', async () => {
    const gate = Promise.withResolvers<void>()
    const slow = handle(double, async ({ value }) => {
      if (value === 1) await gate.promise
      return { value }
    })
    await using h = await startHarness([slow])
    const held = h.bus.call(double, { value: 1 }, context())
    await Promise.all([2, 3, 4].map((value) => h.bus.call(double, { value }, context())))
    await h.bus.call(double, { value: 5 }, context())
    gate.resolve()
    expect(await held).toEqual({ value: 1 })
  })

  test('text arrives unchanged, and a large page travels in a message of its own', async () => {
    const pages = handleText(page, async ({ characters }) => ({
      meta: { count: 1 },
      text: `"${'é'.repeat(characters)}"`,
    }))
    await using h = await startHarness([pages])
    const sizes = [1, 250_000, 10, 250_000]
    const texts = await Promise.all(sizes.map((characters) => h.bus.callText(page, { characters }, context())))
    expect(texts.map(({ text }) => text.length)).toEqual(sizes.map((size) => size + 2))
  })
})

describe('spec 3.17: never a hang', () => {
  test('without a process on the subject: unavailable at once', async () => {
    await using h = await startHarness([])
    expect(await codeOf(h.bus.callText(page, { characters: 1 }, context(60_000)))).toBe('unavailable')
  })

  test('no answer by the deadline: unavailable', async () => {
    await using h = await startHarness([handle(double, () => new Promise(() => {}))])
    expect(await codeOf(h.bus.call(double, { value: 1 }, context(200)))).toBe('unavailable')
  })

  test('no answer to several calls by a deadline right after they left: each is unavailable', async () => {
    await using h = await startHarness([])
    for (let call = 0; call < 5; call += 1) {
      expect(await codeOf(h.bus.call(double, { value: 1 }, context(20)))).toBe('unavailable')
    }
  })

  test('a call whose deadline has passed, or nearly, is not handled', async () => {
    let worked = 0
    const counting = handle(double, async ({ value }) => {
      worked += 1
      return { value }
    })
    await using h = await startHarness([counting])
    expect(await codeOf(h.bus.call(double, { value: 1 }, context(-1)))).toBe('unavailable')
    const [line] = await Promise.all([counting.answer(0, { value: 1 }, context())])
    expect(line).toBe('0+{"value":1}')
    expect(worked).toBe(1)
  })

  test('a request that breaks its contract is internal, and not handled', async () => {
    await using h = await startHarness([doubling])
    expect(await codeOf(h.bus.call(double, { value: 'x' as unknown as number }, context()))).toBe('internal')
  })

  test('after an outage of NATS calls are answered again', async () => {
    await using h = await startHarness([doubling])
    await h.server.restart()
    // The two ends reconnect one after the other.
    expect(await eventually(() => h.bus.call(double, { value: 4 }, context(500)))).toEqual({ value: 8 })
  })

  test('the log of a fault names the call and its cause; a refusal stays as it is', async () => {
    await using h = await startHarness([doubling])
    const causeOf = (work: Promise<unknown>): Promise<string> =>
      work.then(
        () => 'answered',
        (error: Error) => describeError(error).message,
      )
    expect(await causeOf(h.bus.callText(page, { characters: 1 }, context()))).toBe(
      'unavailable: svc.budget.page: no responders',
    )
    expect(await causeOf(h.bus.call(double, { value: 1 }, context(-1)))).toBe(
      'unavailable: svc.budget.double: no time is left',
    )
    expect(await causeOf(h.bus.call(double, { value: 0 }, context()))).toBe(
      'internal: svc.budget.double answered internal',
    )
    expect(await causeOf(h.bus.call(double, { value: -1 }, context()))).toBe('not_found')
  })

  test('a drain answers the accepted calls', async () => {
    const gate = Promise.withResolvers<void>()
    const taken = Promise.withResolvers<void>()
    const slow = handle(double, async ({ value }) => {
      taken.resolve()
      await gate.promise
      return { value }
    })
    await using h = await startHarness([slow])
    const answer = h.bus.call(double, { value: 3 }, context())
    await taken.promise
    const drained = h.serving.drain()
    gate.resolve()
    await drained
    expect(await answer).toEqual({ value: 3 })
    expect(await codeOf(h.bus.call(double, { value: 3 }, context(1_000)))).toBe('unavailable')
  })
})
