import { acceptedSubject } from '@svc/contracts/accepted.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { startTestNats, type TestNats } from '@svc/test/support/engines/engines.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { startTcpProxy } from '@svc/test/support/stand-ins/tcp-proxy.ts'
import { nanos } from 'nats'
import { describe, expect, test } from 'vitest'
import { connectNats, drainNats } from '../src/connect.ts'
import { KeptStream } from '../src/streams/kept-stream.ts'
import { createPublishEvents } from '../src/streams/publish-events.ts'
import { type Handled, StreamConsumer, type StreamEvent } from '../src/streams/stream-consumer.ts'
import { acceptedStream, WEBHOOK_CONSUMER } from '../src/streams/streams.ts'

const logger = createLogger('test', 'silent')
const AGENT = '1111111111111111111111111111111111111111111'
const { signal } = new AbortController()
const PULL = { maxEvents: 10, waitMs: 4_000, signal }
/** A lost event is redelivered after 10 s. No test may depend on that. */
const SOON = { timeoutMs: 9_000 }

/** A consumer like that of the webhook service, and a publisher like that of messaging. */
async function startScene(handle: (event: StreamEvent) => Promise<Handled> = async () => 'done') {
  await using stack = new AsyncDisposableStack()
  const server: TestNats = stack.use(await startTestNats())
  const proxy = stack.use(await startTcpProxy())
  const connect = async (user: 'webhook' | 'messaging', url: string) =>
    stack.adopt(await connectNats({ url, name: `test-${user}`, logger }), (nats) => drainNats(nats, 500))
  const messaging = await connect('messaging', server.urlFor('messaging'))
  const stream = await KeptStream.open(messaging, acceptedStream(1))
  const publish = createPublishEvents(messaging, logger)
  const nats = await connect('webhook', proxy.through(server.urlFor('webhook')))
  const heard: StreamEvent[] = []
  let back = 0
  const consumer = stack.use(
    await StreamConsumer.open(nats, WEBHOOK_CONSUMER, {
      handle: (event) => {
        heard.push(event)
        return handle(event)
      },
      onBack: () => {
        back += 1
      },
    }),
  )
  const owned = stack.move()
  return {
    server,
    proxy,
    stream,
    nats,
    consumer,
    heard,
    texts: () => heard.map(({ text }) => text),
    back: () => back,
    async publish(...texts: string[]): Promise<void> {
      await eventually(() => stream.keep())
      publish(texts.map((text) => ({ subject: acceptedSubject(AGENT, 'inbox'), text, acceptedMs: 1 })))
      await messaging.connection.flush()
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

type Scene = Awaited<ReturnType<typeof startScene>>

/** Pulls until it is stopped, like a loop. */
function startPulling({ consumer }: Scene): AsyncDisposable & { failures: unknown[] } {
  const stop = new AbortController()
  const failures: unknown[] = []
  const done = (async () => {
    while (!stop.signal.aborted) {
      const found = await consumer.pull({ ...PULL, signal: stop.signal }).catch((error: unknown) => {
        failures.push(error)
        return false
      })
      if (!found) await new Promise((resolve) => setTimeout(resolve, 50))
    }
  })()
  return {
    failures,
    async [Symbol.asyncDispose]() {
      stop.abort()
      await done
    },
  }
}

describe('one process of a durable consumer', () => {
  test('events come once, in the order of the stream, and a postponed event comes again after a while', async () => {
    await using scene = await startScene(async ({ text, deliveries }) =>
      text === '2' && deliveries === 1 ? 'again' : text === '3' ? 'never' : 'done',
    )
    await scene.publish('1', '2', '3')
    await using _ = startPulling(scene)
    await eventually(() => scene.heard.length === 4, SOON)
    expect(scene.heard.map(({ text, deliveries }) => `${text} ${deliveries}`)).toEqual(['1 1', '2 1', '3 1', '2 2'])
    await eventually(async () => (await scene.consumer.lag()) === 0)
  })

  test('a pull takes a limited number of events, waits until they are handled, and ends in time if there are none', async () => {
    const handling: PromiseWithResolvers<Handled>[] = []
    await using scene = await startScene(() => {
      const one = Promise.withResolvers<Handled>()
      handling.push(one)
      return one.promise
    })
    await scene.publish('1', '2', '3')
    let over = false
    const pull = scene.consumer.pull({ ...PULL, maxEvents: 2 }).then((found) => {
      over = found
    })
    await eventually(() => handling.length === 2)
    await scene.nats.connection.flush()
    expect([over, handling.length]).toEqual([false, 2])
    for (const one of handling.splice(0)) one.resolve('done')
    await pull
    expect(over).toBe(true)
    const second = scene.consumer.pull(PULL)
    await eventually(() => handling.length === 1)
    handling[0]?.resolve('done')
    expect(await second).toBe(true)
    expect(scene.texts()).toEqual(['1', '2', '3'])
  })

  test('a pull returns false if there is no stream', async () => {
    await using scene = await startScene()
    expect(await scene.consumer.pull(PULL)).toBe(false)
  })

  test('an existing consumer is brought in line with its definition', async () => {
    await using scene = await startScene()
    await scene.publish('1')
    const manager = await scene.nats.connection.jetstreamManager({ checkAPI: false })
    const { stream, config } = WEBHOOK_CONSUMER
    await manager.consumers.add(stream, { ...config, ack_wait: nanos(60_000), max_ack_pending: 1 })
    await using _ = startPulling(scene)
    await eventually(() => scene.heard.length === 1, SOON)
    const { ack_wait, max_ack_pending } = (await manager.consumers.info(stream, config.durable_name)).config
    expect({ ack_wait, max_ack_pending }).toEqual({
      ack_wait: config.ack_wait,
      max_ack_pending: config.max_ack_pending,
    })
  })
})

describe('ADR 22: no pull goes silent', () => {
  test('an event on its way when its pull ends is handled, and does not wait for the acknowledgement timeout', async () => {
    await using scene = await startScene()
    await scene.publish('1')
    const stop = new AbortController()
    // The server still considers the pull open, so it delivers the next event to it.
    const pull = scene.consumer.pull({ ...PULL, waitMs: 60_000, signal: stop.signal })
    await eventually(() => scene.heard.length === 1)
    stop.abort()
    await pull
    await scene.publish('2')
    await eventually(() => scene.texts().includes('2'), SOON)
    await eventually(async () => (await scene.consumer.lag()) === 0)
  })

  test('NATS killed and restarted during a pull: the pull ends at once, and the next pull gets later events', async () => {
    await using scene = await startScene()
    await scene.publish('1')
    await using pulling = startPulling(scene)
    await eventually(() => scene.heard.length === 1)
    await scene.server.kill()
    await eventually(() => pulling.failures.length > 0)
    await scene.server.restart()
    await scene.publish('2')
    await eventually(() => scene.texts().includes('2'), SOON)
    expect(scene.back()).toBe(1)
  })

  test('NATS without its data: the next pulls create the consumer again, and begin with the whole stream', async () => {
    await using scene = await startScene()
    await scene.publish('1')
    await using _ = startPulling(scene)
    await eventually(() => scene.heard.length === 1)
    await scene.server.restart({ wipe: true })
    await scene.publish('1', '2')
    await eventually(() => scene.heard.length === 3, SOON)
    expect(scene.texts()).toEqual(['1', '1', '2'])
  })

  test('a server that sends nothing more on an open connection: the pull ends within seconds', async () => {
    await using scene = await startScene()
    await scene.publish('1')
    await using pulling = startPulling(scene)
    await eventually(() => scene.heard.length === 1)
    scene.proxy.freeze()
    await eventually(() => pulling.failures.length > 0, SOON)
    expect(String(pulling.failures[0])).toContain('is silent')
    scene.proxy.thaw()
    await scene.publish('2')
    await eventually(() => scene.texts().includes('2'), SOON)
  })
})
