import { createLogger } from '@svc/telemetry/logger.ts'
import { startTestNats } from '@svc/test/support/engines.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { expect, test } from 'vitest'
import { connectNats, drainNats } from '../src/connect.ts'
import { StreamPublisher } from '../src/stream-publisher.ts'
import { acceptedStream } from '../src/streams.ts'

const publication = (n: number) => ({ subject: 'accepted.a.inbox', messageId: `a:${n}`, text: '{}' })

test('field notes 2.2: what is asked of a NATS that is away, or goes away, fails at once and works when it is back', async () => {
  await using stack = new AsyncDisposableStack()
  const server = stack.use(await startTestNats())
  const logger = createLogger('test', 'silent')
  const nats = await connectNats({ url: server.urlFor('messaging'), name: 'test', logger })
  stack.adopt(nats, () => drainNats(nats, 500))
  const stream = stack.use(await StreamPublisher.open(nats, acceptedStream(1)))
  await stream.state()
  expect(await stream.publish([publication(1)])).toBe(1)

  let disconnects = 0
  void stream.watchDisconnects(() => {
    disconnects += 1
  })
  await server.kill()
  const beganMs = performance.now()
  await Promise.all([
    expect(stream.publish([publication(2)])).rejects.toThrow(),
    expect(stream.state()).rejects.toThrow(),
  ])
  await eventually(() => disconnects === 1)
  await expect(stream.publish([publication(2)])).rejects.toThrow('NATS is away')
  await expect(stream.state()).rejects.toThrow('NATS is away')
  // An answer that never comes is waited for 5 s.
  expect(performance.now() - beganMs).toBeLessThan(4_500)

  await server.restart()
  expect(await eventually(() => stream.publish([publication(2)]))).toBe(2)
})
