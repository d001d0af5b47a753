import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { createLogger } from '@svc/telemetry/logger.ts'
import { describe, expect, test } from 'vitest'
import { Bodies } from '../body.ts'
import { Load, Overloaded, type Slot } from './load.ts'

const logger = createLogger('test', 'silent')
const MAX_BODY_BYTES = 100

function upload(bytes: number): IncomingMessage {
  const request = new IncomingMessage(new Socket())
  request.headers['content-length'] = String(bytes)
  return request
}

const outcomeOf = (reading: Promise<unknown>): Promise<string> =>
  reading.then(
    () => 'read',
    (error: unknown) => (error instanceof Overloaded ? 'overloaded' : String(error)),
  )

describe('the bodies of all requests together are bounded', () => {
  function start(maxBodyBytes = MAX_BODY_BYTES) {
    const load = new Load({ logger, maxRequests: 10, maxBodyBytes })
    return { load, bodies: new Bodies(load) }
  }

  test('bodies count while they arrive and while their request is processed, but not afterwards', async () => {
    const { load, bodies } = start()
    const request = upload(60)
    const arriving = bodies.read(request)
    request.push(Buffer.alloc(40))
    await new Promise(setImmediate)
    expect(load.bodyBytes).toBe(40)
    request.push(Buffer.alloc(20))
    request.push(null)
    await arriving
    expect(load.bodyBytes).toBe(60)
    bodies.release(request)
    expect(load.bodyBytes).toBe(0)
  })

  test('a body whose client stops sending makes room for newer requests', async () => {
    const { load, bodies } = start()
    const stalled = [upload(90), upload(90)]
    const outcomes = stalled.map((request) => outcomeOf(bodies.read(request)))
    for (const request of stalled) {
      request.push(Buffer.alloc(45))
      await new Promise(setImmediate)
    }
    const late = upload(50)
    const arriving = bodies.read(late)
    late.push(Buffer.alloc(50))
    late.push(null)
    const body = await arriving
    expect(await outcomes[0]).toBe('overloaded')
    expect(body.bytes.length).toBe(50)
    expect(load.bodyBytes).toBe(95)
    stalled[1]?.destroy()
    expect(await outcomes[1]).not.toBe('overloaded')
    expect(load.bodyBytes).toBe(50)
  })

  test('a body whose request is being processed does not make room: newer requests are refused', async () => {
    const { load, bodies } = start()
    const first = upload(90)
    const arriving = bodies.read(first)
    first.push(Buffer.alloc(90))
    first.push(null)
    await arriving
    const second = upload(20)
    const outcome = outcomeOf(bodies.read(second))
    second.push(Buffer.alloc(20))
    expect(await outcome).toBe('overloaded')
    expect(load.bodyBytes).toBe(90)
  })

  test('a body that exceeds its own limit, or is aborted, no longer counts', async () => {
    const { load, bodies } = start(1_000_000)
    const large = upload(97 * 1024)
    const broken = upload(50)
    const outcomes = [large, broken].map((request) => outcomeOf(bodies.read(request)))
    broken.push(Buffer.alloc(20))
    await new Promise(setImmediate)
    broken.destroy()
    expect(await Promise.all(outcomes)).toEqual([
      expect.stringContaining('96 KiB'),
      expect.stringContaining('the connection broke'),
    ])
    expect(load.bodyBytes).toBe(0)
  })
})

let clients = 0
/** @param client by default, one that no other slot has. */
function slotOf(kind: Slot['kind'], isUnsigned = false, client?: string): Slot {
  clients += 1
  return { kind, isUnsigned, client: client ?? `client ${clients}` }
}

/** Begins up to this many requests. @returns those that were not refused. */
function beginAll(load: Load, count: number, next: () => Slot): Slot[] {
  return Array.from({ length: count }, next).filter((slot) => {
    try {
      load.beginRequest(slot)
      return true
    } catch (error) {
      if (error instanceof Overloaded) return false
      throw error
    }
  })
}

describe('the number of requests under way is limited', () => {
  test.each([
    ['reads', 'read', 'write'],
    ['writes', 'write', 'read'],
  ] as const)(
    'three quarters of the slots may hold %s; the rest is for the other kind, and finished requests free their slots',
    (_, many, few) => {
      const load = new Load({ logger, maxRequests: 8 })
      const held = beginAll(load, 10, () => slotOf(many))
      expect(held).toHaveLength(6)
      expect(beginAll(load, 10, () => slotOf(few))).toHaveLength(2)
      expect(beginAll(load, 1, () => slotOf('probe'))).toHaveLength(1)
      expect(load.requests).toBe(8)
      for (const slot of held) load.endRequest(slot)
      expect(beginAll(load, 10, () => slotOf(few))).toHaveLength(4)
      expect(beginAll(load, 10, () => slotOf(many))).toHaveLength(2)
    },
  )

  test('half of the slots may hold requests of one client; finished requests free their slots', () => {
    const load = new Load({ logger, maxRequests: 8 })
    const one = (): Slot => slotOf(clients % 2 === 0 ? 'read' : 'write', false, 'one')
    const held = beginAll(load, 10, one)
    expect(held).toHaveLength(4)
    expect(beginAll(load, 1, () => slotOf('read'))).toHaveLength(1)
    for (const slot of held.slice(0, 2)) load.endRequest(slot)
    expect(beginAll(load, 10, one)).toHaveLength(2)
  })

  test('a quarter may be unsigned, registered agents have the rest, and finished requests free their slots', () => {
    const load = new Load({ logger, maxRequests: 8 })
    const unsigned = (): Slot => slotOf(clients % 2 === 0 ? 'read' : 'write', true)
    const held = beginAll(load, 3, unsigned)
    expect(held).toHaveLength(2)
    expect(beginAll(load, 1, () => slotOf('probe', true))).toHaveLength(1)
    expect(beginAll(load, 6, () => slotOf(clients % 2 === 0 ? 'read' : 'write'))).toHaveLength(6)
    for (const slot of held.slice(1)) load.endRequest(slot)
    expect(beginAll(load, 3, unsigned)).toHaveLength(1)
  })
})
