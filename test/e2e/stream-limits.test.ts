/** When streams end, how many there are, and who frees them; with short times and little room. Source: decisions 39, 40; issue 4. */
import { measureOutbox } from '@svc/contracts/messaging.ts'
import { measureStreams } from '@svc/contracts/stream.ts'
import { createBus } from '@svc/nats/bus.ts'
import { connectNats, drainNats } from '@svc/nats/connect.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Agent } from '../support/agent.ts'
import { got } from '../support/answers.ts'
import { openEventStream, openSilentStream, type TestStream } from '../support/event-stream.ts'
import { eventually } from '../support/eventually.ts'
import { expectError } from '../support/expect-answer.ts'
import { type Harness, startHarness } from '../support/harness.ts'

const ROOM = 3
const MAX_SECONDS = 4
/** Within it a lease has not run out, whatever the machine has to do besides. */
const LEASE_MS = 7_000

let h: Harness
beforeAll(async () => {
  const env = {
    SVC_STREAM_HEARTBEAT_SECONDS: '1',
    SVC_STREAM_MAX_SECONDS: String(MAX_SECONDS),
    SVC_STREAMS_PER_PROCESS: String(ROOM),
  }
  h = await startHarness({ env })
})
afterAll(() => h[Symbol.asyncDispose]())

async function friends(): Promise<[Agent, Agent]> {
  const [anna, ben] = await h.agents(2)
  await got(ben.put(`/v2/contacts/${anna.id}`, { state: 'accepted' }))
  return [anna, ben]
}

/** A stream, once there is room. */
async function opened(agent: Agent, url?: string): Promise<TestStream> {
  const stream = await eventually(async () => {
    const tried = await openEventStream(agent, '', url === undefined ? {} : { url })
    return tried.status === 200 ? tried : false
  })
  await stream.until('cursor')
  return stream
}

const answerOf = ({ status, headers, text }: TestStream) => ({ status, headers, text, body: JSON.parse(text) })

describe('decisions 39: when a cursor is sent', () => {
  test('service.md, Stream: at each time of silence, and last before the server closes, which it does after its time', async () => {
    const [anna, ben] = await friends()
    const beganMs = Date.now()
    using stream = await opened(ben)
    await got(anna.send(ben))
    expect(await stream.over).toBe('ended')
    const lastedMs = Date.now() - beganMs
    expect(lastedMs).toBeGreaterThan(MAX_SECONDS * 1_000 - 200)
    expect(lastedMs).toBeLessThan(MAX_SECONDS * 1_000 + 2_000)
    const events = stream.frames.map(({ event, id }) => `${event} ${id}`)
    expect(events.slice(0, 3)).toEqual(['undefined undefined', 'cursor 0', 'message 1'])
    // A heartbeat a second, less the one that the message took the place of, and the last.
    const rest = events.slice(3)
    expect(new Set(rest)).toEqual(new Set(['cursor 1']))
    expect(rest.length).toBeGreaterThanOrEqual(MAX_SECONDS - 1)
    expect(rest.length).toBeLessThanOrEqual(MAX_SECONDS + 1)
  })

  test('a client that comes back with its last cursor misses nothing and sees nothing twice', async () => {
    const [anna, ben] = await friends()
    const sent: string[] = []
    const seen: string[] = []
    let cursor = 0
    for (let round = 0; round < 3; round += 1) {
      sent.push((await got(anna.send(ben))).body.msg_id)
      using stream = await eventually(async () => {
        const tried = await openEventStream(ben, '', { headers: { 'last-event-id': String(cursor) } })
        return tried.status === 200 ? tried : false
      })
      sent.push((await got(anna.send(ben))).body.msg_id)
      await stream.until('message', sent.length - seen.length)
      seen.push(...stream.ids())
      cursor = stream.last()
    }
    expect(seen).toEqual(sent)
  })
})

describe('decisions 40: room', () => {
  test('service.md, Limits: streams per process: a full process hands on to another with room, and none with room is 429 stream_capacity', async () => {
    const agents = await h.agents(2 * ROOM + 1)
    const streams: TestStream[] = []
    // As many as there is room for all together, whichever process is asked.
    for (const agent of agents.slice(0, 2 * ROOM)) streams.push(await opened(agent))
    using refused = await openEventStream(agents[2 * ROOM] as Agent)
    expectError(answerOf(refused), 429, 'stream_capacity')
    streams[0]?.close()
    const next = await opened(agents[2 * ROOM] as Agent)
    for (const stream of [...streams, next]) stream.close()
  })
})

test('issue 4, 2: clients that take nothing and do not go away have their places no longer than a stream lasts', async () => {
  const [anna, ben] = await friends()
  using silent = new DisposableStack()
  for (const [at, target] of ['/v2/stream', '/v2/stream?after=0'].entries()) {
    silent.use(await openSilentStream(ben, target, h.system.urls[at] ?? ''))
  }
  using third = await openEventStream(ben)
  expectError(answerOf(third), 429, 'stream_limit')
  for (let sent = 0; sent < 25; sent += 1) await got(anna.send(ben, 'x'.repeat(3_500)))
  const beganMs = Date.now()
  using stream = await eventually(async () => {
    const tried = await openEventStream(ben)
    return tried.status === 200 ? tried : false
  })
  expect(Date.now() - beganMs).toBeLessThan((MAX_SECONDS + 6) * 1_000)
  await stream.until('cursor')
  expect(stream.cursors()).toHaveLength(25)
}, 30_000)

test('issue 4, 7: how many streams are open, and how far the outbox and the streams are behind, are numbers', async () => {
  const [anna, ben] = await friends()
  const logger = createLogger('test', 'silent')
  const nats = await connectNats({ url: h.system.nats.urlFor('admin'), name: 'test', logger })
  using bus = createBus(nats)
  const context = () => ({ traceparent: newTraceparent(), deadlineMs: Date.now() + 2_000 })
  using stream = await opened(ben)
  await got(anna.send(ben))
  await stream.until('message')
  await eventually(async () => {
    // Any process answers.
    const measured = await bus.call(measureStreams, {}, context())
    expect(measured).toMatchObject({ open: 1, room: ROOM - 1, most_behind: 0 })
    expect(measured.heads_read_seconds).toBeLessThan(5)
  })
  await eventually(async () => {
    expect(await bus.call(measureOutbox, {}, context())).toEqual({ oldest_unpublished_seconds: 0 })
  })
  stream.close()
  await drainNats(nats)
})

describe('issue 4, 1: a killed process frees its leases within 15 s', () => {
  test('and its clients go on elsewhere at once, if they have another', async () => {
    const [anna, ben] = await friends()
    const streams = [await opened(ben), await opened(ben)]
    const sent = [(await got(anna.send(ben))).body.msg_id]
    await Promise.all(streams.map((stream) => stream.until('message')))
    await Promise.all(['stream-1', 'stream-2'].map((name) => h.system.kill(name)))
    const killedMs = Date.now()
    for (const stream of streams) expect(await stream.over).toBe('broken')
    await Promise.all(['stream-1', 'stream-2'].map((name) => h.system.start(name)))
    // Nobody knows whether the killed ones still write: two leases are taken.
    using refused = await openEventStream(ben)
    if (Date.now() - killedMs < LEASE_MS) expectError(answerOf(refused), 429, 'stream_limit')
    refused.close()
    using again = await eventually(
      async () => {
        const tried = await openEventStream(ben)
        return tried.status === 200 ? tried : false
      },
      { timeoutMs: 15_000 - (Date.now() - killedMs) },
    )
    await again.until('message')
    expect(again.ids()).toEqual(sent)
  })
})

describe('design.md, Failing: SIGTERM closes streams with a last cursor, and exits 0 within 20 s', () => {
  test.each(['stream', 'gateway'] as const)('of a process of %s; the client goes on at another', async (service) => {
    const [anna, ben] = await friends()
    const url = h.system.urls[0] ?? ''
    const stream = await opened(ben, url)
    await got(anna.send(ben))
    await stream.until('message')
    const names = service === 'gateway' ? ['gateway-1'] : ['stream-1', 'stream-2']
    const beganMs = Date.now()
    const endings = await Promise.all(names.map((name) => h.system.processes.get(name)?.stop()))
    expect(endings.map((ending) => ending?.code)).toEqual(names.map(() => 0))
    expect(Date.now() - beganMs).toBeLessThan(20_000)
    expect(await stream.over).toBe('ended')
    expect(stream.frames.at(-1)).toMatchObject({ event: 'cursor', id: '1' })
    await Promise.all(names.map((name) => h.system.start(name)))
    // Its lease is free at once.
    using again = await opened(ben, h.system.urls[1])
    expect(again.cursors()).toEqual([1])
  })
})
