/** SVC_NATS_STREAMS=verify: others create the stream and the consumer, and the logins of the services may not. */
import { readFileSync } from 'node:fs'
import { createLogger } from '@svc/telemetry/logger.ts'
import { startConfiguredNats } from '@svc/test/support/engines/engines.ts'
import { connect, type JetStreamManager } from 'nats'
import { expect, test } from 'vitest'
import { connectNats, drainNats } from '../src/connect.ts'
import { KeptStream } from '../src/streams/kept-stream.ts'
import { verifyConsumer, verifyStream } from '../src/streams/managed-streams.ts'
import { createPublishEvents } from '../src/streams/publish-events.ts'
import { StreamConsumer } from '../src/streams/stream-consumer.ts'
import { acceptedStream, WEBHOOK_CONSUMER } from '../src/streams/streams.ts'

const DEPLOY = new URL('../../../deploy/nats/', import.meta.url)
const MAKES = /"\$JS\.API\.(STREAM\.CREATE|STREAM\.UPDATE|CONSUMER\.CREATE)\.[^"]*",?/g
const read = (name: string): string => readFileSync(new URL(name, DEPLOY), 'utf8')
const STREAM = JSON.parse(read('jetstream/ACCEPTED.json'))
const CONSUMER = JSON.parse(read('jetstream/webhook.json'))

test('deploy/nats/jetstream has what the services would create', () => {
  expect(STREAM).toEqual(acceptedStream(3))
  expect(CONSUMER).toEqual(WEBHOOK_CONSUMER.config)
})

/** A server on which the services' logins may create nothing, and a login of the platform that may do everything. */
async function startScene() {
  await using stack = new AsyncDisposableStack()
  const users = read('users.conf')
  expect(users.match(MAKES)).toHaveLength(3)
  const added = { 'users.conf': users.replace(MAKES, '').replace('users: [', 'users: [ { user: p, password: p }') }
  const server = stack.use(await startConfiguredNats('include "users.conf"', added))
  const logger = createLogger('test', 'silent')
  const as = async (user: 'messaging' | 'webhook') =>
    stack.adopt(await connectNats({ url: server.urlFor(user), name: 'test', logger }), (one) => drainNats(one, 500))
  const messaging = await as('messaging')
  const stream = await KeptStream.open(messaging, acceptedStream(1), { management: 'verify' })
  const publish = createPublishEvents(messaging, logger)
  const heard: string[] = []
  const handle = async ({ text }: { text: string }) => {
    heard.push(text)
    return 'done' as const
  }
  const consumer = stack.use(
    await StreamConsumer.open(await as('webhook'), WEBHOOK_CONSUMER, { handle, management: 'verify' }),
  )
  const connection = stack.adopt(await connect({ servers: `127.0.0.1:${server.port}`, user: 'p', pass: 'p' }), (one) =>
    one.close(),
  )
  const platform = await connection.jetstreamManager({ checkAPI: false })
  const owned = stack.move()
  return { stream, publish, consumer, platform, heard, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

const pullOne = (consumer: StreamConsumer): Promise<boolean> =>
  consumer.pull({ maxEvents: 1, waitMs: 4_000, signal: new AbortController().signal })

test('the services create nothing, say what is missing, and work with what others have created', async () => {
  await using scene = await startScene()
  const { stream, publish, consumer, platform, heard } = scene
  await expect(stream.keep()).rejects.toThrow(
    'the stream ACCEPTED does not exist: make it from deploy/nats/jetstream/ACCEPTED.json',
  )
  await expect(pullOne(consumer)).rejects.toThrow('the consumer webhook of the stream ACCEPTED does not exist')
  await platform.streams.add({ ...STREAM, num_replicas: 1 })
  await expect(pullOne(consumer)).rejects.toThrow('make it from deploy/nats/jetstream/webhook.json')
  await platform.consumers.add('ACCEPTED', CONSUMER)

  await stream.keep()
  publish([{ subject: 'accepted.a.inbox', text: 'one', acceptedMs: 1 }])
  expect(await pullOne(consumer)).toBe(true)
  expect(heard).toEqual(['one'])
})

const managerOf = (config: object): JetStreamManager =>
  ({ streams: { info: async () => ({ config }) }, consumers: { info: async () => ({ config }) } }) as never

test.each([
  ['as it is made', {}, ''],
  ['larger, longer and in more copies', { max_bytes: 2 ** 40, max_age: 2e15, num_replicas: 5 }, ''],
  ['other subjects', { subjects: ['accepted.*'] }, 'subjects is ["accepted.*"], and must be ["accepted.>"]'],
  ['work is removed', { retention: 'workqueue' }, 'retention is "workqueue", and must be "limits"'],
  ['in memory', { storage: 'memory' }, 'storage is "memory", and must be "file"'],
  ['refuses new events', { discard: 'new' }, 'discard is "new", and must be "old"'],
  ['fewer copies', { num_replicas: 1 }, 'num_replicas is 1, and must be at least 3'],
  ['a shorter time', { max_age: 1e9 }, 'max_age is 1000000000, and must be at least 86400000000000'],
  ['no bound', { max_bytes: -1 }, 'max_bytes is -1, and must be a bound'],
  ['few messages', { max_msgs: 100 }, 'max_msgs is 100, and must be -1'],
  ['few messages of an agent', { max_msgs_per_subject: 1 }, 'max_msgs_per_subject is 1, and must be -1'],
])('a stream that is managed elsewhere: %s', async (_, change, fault) => {
  const check = verifyStream(managerOf({ ...STREAM, max_msgs: -1, ...change }), acceptedStream(3))
  if (fault === '') await check
  else await expect(check).rejects.toThrow(`the stream ACCEPTED is managed elsewhere and must be changed: ${fault}`)
})

test.each([
  ['as it is made', {}, ''],
  ['other events', { filter_subject: 'accepted.>' }, 'filter_subject is "accepted.>", and must be "accepted.*.inbox"'],
  ['only new ones', { deliver_policy: 'new' }, 'deliver_policy is "new", and must be "all"'],
  ['acknowledges nothing', { ack_policy: 'none' }, 'ack_policy is "none", and must be "explicit"'],
  ['gives up', { max_deliver: 5 }, 'max_deliver is 5, and must be -1'],
  ['another time', { ack_wait: 1 }, 'ack_wait is 1, and must be 10000000000'],
  ['few at once', { max_ack_pending: 10 }, 'max_ack_pending is 10, and must be at least 20000'],
])('a consumer that is managed elsewhere: %s', async (_, change, fault) => {
  const check = verifyConsumer(managerOf({ ...CONSUMER, ...change }), WEBHOOK_CONSUMER)
  if (fault === '') await check
  else
    await expect(check).rejects.toThrow(
      `the consumer webhook of the stream ACCEPTED is managed elsewhere and must be changed: ${fault}`,
    )
})
