/** The number of streams, and the release of their leases when processes end. Source: spec 9.8, 9.9. */
import { measureStreams } from '@svc/contracts/stream.ts'
import { createBus } from '@svc/nats/bus.ts'
import { connectNats, drainNats } from '@svc/nats/connect.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Agent } from '../../support/client/agent.ts'
import { got } from '../../support/client/answers.ts'
import { openEventStream, type TestStream } from '../../support/client/event-stream.ts'
import { expectError } from '../../support/client/expect-answer.ts'
import { eventually } from '../../support/eventually.ts'
import { type Harness, startHarness } from '../../support/system/harness.ts'
import { ONE_OF_EACH } from '../../support/system/system.ts'

const ROOM = 3
const STREAMS = ['stream-1', 'stream-2']
/** A lease lasts at least this long, even on a busy machine. */
const LEASE_MS = 7_000

let h: Harness
beforeAll(async () => {
  const env = { SVC_STREAMS_PER_PROCESS: String(ROOM) }
  h = await startHarness({ replicas: { ...ONE_OF_EACH, stream: 2, messaging: 2, gateway: 2 }, env })
})
afterAll(() => h[Symbol.asyncDispose]())

async function friends(): Promise<[Agent, Agent]> {
  const [anna, ben] = await h.agents(2)
  await got(ben.put(`/v2/contacts/${anna.id}`, { state: 'accepted' }))
  return [anna, ben]
}

/** Opens a stream as soon as a slot is free. */
async function opened(agent: Agent, url?: string): Promise<TestStream> {
  const stream = await eventually(async () => {
    const tried = await openEventStream(agent, '', url === undefined ? {} : { url })
    return tried.status === 200 ? tried : false
  })
  await stream.until('cursor')
  return stream
}

const answerOf = ({ status, headers, text }: TestStream) => ({ status, headers, text, body: JSON.parse(text) })

describe('spec 9.8: capacity', () => {
  test('spec 11.7: streams per process: a full process forwards to another with room, and without room the answer is 429 stream_capacity', async () => {
    const agents = await h.agents(2 * ROOM + 1)
    const streams: TestStream[] = []
    // as many as all processes together have room for, whichever process is asked
    for (const agent of agents.slice(0, 2 * ROOM)) streams.push(await opened(agent))
    using refused = await openEventStream(agents[2 * ROOM] as Agent)
    expectError(answerOf(refused), 429, 'stream_capacity')
    streams[0]?.close()
    const next = await opened(agents[2 * ROOM] as Agent)
    for (const stream of [...streams, next]) stream.close()
  })
})

test('metrics: open streams, and how far they are behind', async () => {
  const [anna, ben] = await friends()
  const logger = createLogger('test', 'silent')
  const nats = await connectNats({ url: h.system.nats.urlFor('admin'), name: 'test', logger, asOperator: true })
  using bus = createBus(nats)
  const context = () => ({ traceparent: newTraceparent(), deadlineMs: Date.now() + 2_000 })
  using stream = await opened(ben)
  await got(anna.send(ben))
  await stream.until('message')
  await eventually(async () => {
    // any process may answer
    const measured = await bus.call(measureStreams, {}, context())
    expect(measured).toMatchObject({ open: 1, room: ROOM - 1, most_behind: 0 })
    expect(measured.heads_read_seconds).toBeLessThan(10)
  })
  stream.close()
  await drainNats(nats)
})

describe('a killed process frees its leases within 15 s', () => {
  test('and its clients continue at another process at once', async () => {
    const [anna, ben] = await friends()
    const streams = [await opened(ben), await opened(ben)]
    const sent = [(await got(anna.send(ben))).body.msg_id]
    await Promise.all(streams.map((stream) => stream.until('message')))
    await Promise.all(STREAMS.map((name) => h.system.kill(name)))
    const killedMs = Date.now()
    for (const stream of streams) expect(await stream.over).toBe('broken')
    await Promise.all(STREAMS.map((name) => h.system.start(name)))
    // it is unknown whether the killed processes still write, so both leases still count
    using refused = await openEventStream(ben)
    if (Date.now() - killedMs < LEASE_MS) expectError(answerOf(refused), 429, 'stream_limit')
    refused.close()
    using again = await eventually(
      async () => {
        const tried = await openEventStream(ben)
        return tried.status === 200 ? tried : false
      },
      // the second value applies if the restart took the whole time
      { timeoutMs: Math.max(15_000 - (Date.now() - killedMs), 5_000) },
    )
    await again.until('message')
    expect(again.ids()).toEqual(sent)
  })
})

describe('spec 9.9: SIGTERM closes streams with a last cursor, and exits 0 within 20 s', () => {
  test.each(['stream', 'gateway'] as const)('of a process of %s; the client continues at another', async (service) => {
    const [anna, ben] = await friends()
    const url = h.system.urls[0] ?? ''
    const stream = await opened(ben, url)
    await got(anna.send(ben))
    await stream.until('message')
    const names = service === 'gateway' ? ['gateway-1'] : STREAMS
    const beganMs = Date.now()
    const endings = await Promise.all(names.map((name) => h.system.processes.get(name)?.stop()))
    expect(endings.map((ending) => ending?.code)).toEqual(names.map(() => 0))
    expect(Date.now() - beganMs).toBeLessThan(20_000)
    expect(await stream.over).toBe('ended')
    expect(stream.frames.at(-1)).toMatchObject({ event: 'cursor', id: '1' })
    await Promise.all(names.map((name) => h.system.start(name)))
    // its lease is released at once
    using again = await opened(ben, h.system.urls[1])
    expect(again.cursors()).toEqual([1])
  })
})
