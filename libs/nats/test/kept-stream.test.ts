import { createLogger } from '@svc/telemetry/logger.ts'
import { startTestNats } from '@svc/test/support/engines/engines.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { expect, test, vi } from 'vitest'
import { connectNats, drainNats } from '../src/connect.ts'
import { KeptStream } from '../src/streams/kept-stream.ts'
import { createPublishEvents } from '../src/streams/publish-events.ts'
import { acceptedStream, DEFAULT_STREAM_BOUNDS } from '../src/streams/streams.ts'

async function startScene() {
  await using stack = new AsyncDisposableStack()
  const server = stack.use(await startTestNats())
  const logger = createLogger('test', 'silent')
  const nats = stack.adopt(await connectNats({ url: server.urlFor('messaging'), name: 'test', logger }), (one) =>
    drainNats(one, 500),
  )
  const owned = stack.move()
  return {
    server,
    nats,
    publish: createPublishEvents(nats, logger),
    open: (maxBytes: number) => KeptStream.open(nats, acceptedStream(1, { ...DEFAULT_STREAM_BOUNDS, maxBytes })),
    stateOf: async () => {
      const manager = await nats.connection.jetstreamManager({ checkAPI: false })
      return (await manager.streams.info('ACCEPTED')).state
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

const event = (text = '{}') => ({ subject: 'accepted.a.inbox', text, acceptedMs: 1 })

test('ADR 20, 22: while NATS is away, publishing does not throw, and a call fails at once; when it is back, both work', async () => {
  await using h = await startScene()
  const back = vi.fn()
  const stream = await KeptStream.open(h.nats, acceptedStream(1), { onBack: back })
  await stream.keep()
  h.publish([event(), event()])
  await eventually(async () => expect((await h.stateOf()).messages).toBe(2))

  await h.server.kill()
  await expect(stream.keep()).rejects.toThrow(/NATS is not connected|connection to NATS was lost/)
  await expect(stream.keep()).rejects.toThrow('NATS is not connected')
  h.publish([event()])

  await h.server.restart({ wipe: true })
  await eventually(() => back.mock.calls.length === 1)
  await eventually(() => stream.keep())
  h.publish([event()])
  await eventually(async () => expect((await h.stateOf()).messages).toBeGreaterThan(0))
})

test('a connection that is closed publishes nothing and throws nothing', async () => {
  await using h = await startScene()
  await drainNats(h.nats, 500)
  h.publish([event()])
})

test('a stream gets the bounds of its definition, and past them drops its oldest events', async () => {
  await using h = await startScene()
  const before = await h.open(2 * 1024 ** 3)
  await before.keep()
  expect((await before.size()).maxBytes).toBe(2 * 1024 ** 3)
  const after = await h.open(1024 ** 2)
  await after.keep()
  expect((await after.size()).maxBytes).toBe(1024 ** 2)
  h.publish(Array.from({ length: 40 }, () => event('x'.repeat(64 * 1024))))
  await eventually(async () => expect((await h.stateOf()).last_seq).toBe(40))
  expect((await after.size()).bytes).toBeLessThanOrEqual(1024 ** 2)
})

test.each(['is new', 'had no bound before'])(
  'a server without room for the size limit gives the stream a smaller limit, and the log says what to do: a stream that %s',
  async (kind) => {
    await using h = await startScene()
    const maxBytes = 2 ** 52
    const stream = await h.open(maxBytes)
    if (kind === 'had no bound before') {
      const manager = await h.nats.connection.jetstreamManager({ checkAPI: false })
      await manager.streams.add({ ...acceptedStream(1), max_bytes: -1 })
      await stream.keep()
    }
    await expect(stream.keep()).rejects.toThrow('lower SVC_STREAM_MAX_BYTES')
    const size = await stream.size()
    expect(size.maxBytes).toBeGreaterThanOrEqual(64 * 1024 ** 2)
    expect(size.maxBytes).toBeLessThan(maxBytes)
  },
)
