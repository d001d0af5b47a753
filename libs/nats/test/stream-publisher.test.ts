import { createLogger } from '@svc/telemetry/logger.ts'
import { startTestNats } from '@svc/test/support/engines/engines.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { expect, test } from 'vitest'
import { connectNats, drainNats } from '../src/connect.ts'
import { StreamPublisher } from '../src/streams/stream-publisher.ts'
import { acceptedStream, DEFAULT_STREAM_BOUNDS } from '../src/streams/streams.ts'

const publication = (n: number) => ({ subject: 'accepted.a.inbox', messageId: `a:${n}`, text: '{}' })

test('ADR 22: a call to a NATS that is down, or goes down, fails at once, and works when NATS is back', async () => {
  await using stack = new AsyncDisposableStack()
  const server = stack.use(await startTestNats())
  const logger = createLogger('test', 'silent')
  const nats = await connectNats({ url: server.urlFor('messaging'), name: 'test', logger })
  stack.adopt(nats, () => drainNats(nats, 500))
  const stream = stack.use(await StreamPublisher.open(nats, acceptedStream(1)))
  await stream.state()
  expect(await stream.publish([publication(1)])).toEqual({ lastSequence: 1, isNew: true })

  let disconnects = 0
  void stream.watchDisconnects(() => {
    disconnects += 1
  })
  await server.kill()
  await Promise.all([
    expect(stream.publish([publication(2)])).rejects.toThrow('NATS is not connected'),
    expect(stream.state()).rejects.toThrow('NATS is not connected'),
  ])
  await eventually(() => disconnects === 1)
  await expect(stream.publish([publication(2)])).rejects.toThrow('NATS is not connected')
  await expect(stream.state()).rejects.toThrow('NATS is not connected')

  await server.restart()
  // The stream may have the event already, from an attempt whose answer was lost.
  expect(await eventually(() => stream.publish([publication(2)]))).toMatchObject({ lastSequence: 2 })
})

test('the answer to a batch says whether the stream stored any of it', async () => {
  await using stack = new AsyncDisposableStack()
  const server = stack.use(await startTestNats())
  const logger = createLogger('test', 'silent')
  const nats = stack.adopt(await connectNats({ url: server.urlFor('messaging'), name: 'test', logger }), (one) =>
    drainNats(one, 500),
  )
  const stream = stack.use(await StreamPublisher.open(nats, acceptedStream(1)))
  await stream.state()
  const publish = (...numbers: number[]) => stream.publish(numbers.map(publication))
  expect(await publish(1, 2, 3)).toEqual({ lastSequence: 3, isNew: true })
  // JetStream acknowledges one duplicate with its first sequence, and a batch of several duplicates with no sequence.
  expect(await publish(1)).toEqual({ lastSequence: 3, isNew: false })
  expect(await publish(1, 2)).toEqual({ lastSequence: 3, isNew: false })
  expect(await publish(1, 4, 2)).toEqual({ lastSequence: 4, isNew: true })
})

test('a stream gets the bounds of its definition, and past them drops its oldest events', async () => {
  await using stack = new AsyncDisposableStack()
  const server = stack.use(await startTestNats())
  const logger = createLogger('test', 'silent')
  const nats = stack.adopt(await connectNats({ url: server.urlFor('messaging'), name: 'test', logger }), (one) =>
    drainNats(one, 500),
  )
  const open = async (maxBytes: number): Promise<StreamPublisher> =>
    stack.use(await StreamPublisher.open(nats, acceptedStream(1, { ...DEFAULT_STREAM_BOUNDS, maxBytes })))
  const before = await open(2 * 1024 ** 3)
  await before.state()
  expect((await before.size()).maxBytes).toBe(2 * 1024 ** 3)
  const after = await open(1024 ** 2)
  await after.align()
  expect((await after.size()).maxBytes).toBe(1024 ** 2)
  const publications = Array.from({ length: 40 }, (_, n) => ({ ...publication(n), text: 'x'.repeat(64 * 1024) }))
  expect((await after.publish(publications)).lastSequence).toBe(40)
  expect((await after.size()).bytes).toBeLessThanOrEqual(1024 ** 2)
})

test.each(['is new', 'had no bound before'])(
  'a server without room for the size limit gives the stream a smaller limit, and the log says what to do: a stream that %s',
  async (kind) => {
    await using stack = new AsyncDisposableStack()
    const server = stack.use(await startTestNats())
    const logger = createLogger('test', 'silent')
    const nats = stack.adopt(await connectNats({ url: server.urlFor('messaging'), name: 'test', logger }), (one) =>
      drainNats(one, 500),
    )
    const maxBytes = 2 ** 52
    const stream = stack.use(
      await StreamPublisher.open(nats, acceptedStream(1, { ...DEFAULT_STREAM_BOUNDS, maxBytes })),
    )
    if (kind === 'had no bound before') {
      const manager = await nats.connection.jetstreamManager({ checkAPI: false })
      await manager.streams.add({ ...acceptedStream(1), max_bytes: -1 })
      await stream.align()
    }
    await stream.state()
    const size = await stream.size()
    expect(size.maxBytes).toBeGreaterThanOrEqual(64 * 1024 ** 2)
    expect(size.maxBytes).toBeLessThan(maxBytes)
    await expect(stream.align()).rejects.toThrow('lower SVC_STREAM_MAX_BYTES')
  },
)
