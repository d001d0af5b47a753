import { createLogger } from '@svc/telemetry/logger.ts'
import { startTestNats } from '@svc/test/support/engines/engines.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { describe, expect, test } from 'vitest'
import { createChannel } from '../src/channel.ts'
import { connectNats, drainNats } from '../src/connect.ts'

const logger = createLogger('test', 'silent')
const SUBJECT = 'svc.gateway.test'

async function startPair() {
  const stack = new AsyncDisposableStack()
  const server = stack.use(await startTestNats())
  const open = async () => {
    const nats = await connectNats({ url: server.urlFor('gateway'), name: 'test', logger })
    stack.defer(() => drainNats(nats, 500))
    return { nats, channel: createChannel(nats) }
  }
  const [one, other] = [await open(), await open()]
  return { server, one, other, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

describe('messages between processes of one service', () => {
  test('every listener gets a value, but a listener that has stopped gets none', async () => {
    await using pair = await startPair()
    const heard: unknown[] = []
    const listening = pair.one.channel.subscribe(SUBJECT, (value) => heard.push(value))
    await pair.one.channel.flush()
    pair.other.channel.publish(SUBJECT, { n: 1 })
    await eventually(() => heard.length === 1)
    listening[Symbol.dispose]()
    await pair.one.channel.flush()
    pair.other.channel.publish(SUBJECT, { n: 2 })
    await pair.other.channel.flush()
    await pair.one.channel.flush()
    expect(heard).toEqual([{ n: 1 }])
  })

  test('a request has an answer, and fails at once if nobody listens', async () => {
    await using pair = await startPair()
    await expect(pair.one.channel.request(SUBJECT, {}, 60_000)).rejects.toThrow('503')
    pair.other.channel.subscribe(SUBJECT, (value, respond) => respond([value]))
    await pair.other.channel.flush()
    expect(await pair.one.channel.request(SUBJECT, 7, 5_000)).toEqual([7])
  })

  test('an unanswered request ends in time', async () => {
    await using pair = await startPair()
    pair.other.channel.subscribe(SUBJECT, () => {})
    await pair.other.channel.flush()
    await expect(pair.one.channel.request(SUBJECT, 7, 50)).rejects.toThrow('TIMEOUT')
  })

  test('a value that is not JSON is undefined, and an answer to no request is ignored', async () => {
    await using pair = await startPair()
    const heard: unknown[] = []
    pair.one.channel.subscribe(SUBJECT, (value, respond) => {
      heard.push(value)
      respond('nobody asked')
    })
    await pair.one.channel.flush()
    for (const text of ['{', '']) pair.other.nats.connection.publish(SUBJECT, text)
    await eventually(() => heard.length === 2)
    expect(heard).toEqual([undefined, undefined])
    pair.other.channel.publish(SUBJECT, 'on it goes')
    await eventually(() => heard.length === 3)
  })

  test('listeners learn that the connection is lost, and that it is back', async () => {
    await using pair = await startPair()
    const states: string[] = []
    void pair.one.channel.watchConnection((state) => states.push(state))
    await pair.server.restart()
    await eventually(() => states.includes('back'))
    expect(states[0]).toBe('lost')
  })

  test('a closed connection throws nothing at senders', async () => {
    await using pair = await startPair()
    await pair.one.nats.connection.close()
    pair.one.channel.publish(SUBJECT, 1)
    await expect(pair.one.channel.request(SUBJECT, 1, 1_000)).rejects.toThrow()
  })
})
