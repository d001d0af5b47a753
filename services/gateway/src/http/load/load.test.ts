import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { createLogger } from '@svc/telemetry/logger.ts'
import { describe, expect, test } from 'vitest'
import { readBody } from '../body.ts'
import { createLoad, MAX_TURN_MS, Overloaded, type Slot } from './load.ts'
import { createTurn } from './turn.ts'

const logger = createLogger('test', 'silent')
const MAX_BODY_BYTES = 100

function upload(bytes: number): IncomingMessage {
  const request = new IncomingMessage(new Socket())
  request.headers['content-length'] = String(bytes)
  return request
}

const outcomeOf = (reading: Promise<Disposable>): Promise<string> =>
  reading.then(
    () => 'read',
    (error: unknown) => (error instanceof Overloaded ? 'overloaded' : String(error)),
  )

describe('the bodies of all requests together are bounded', () => {
  const start = () => createLoad({ logger, maxRequests: 10, maxBodyBytes: MAX_BODY_BYTES })

  test('bodies count while they arrive and while their request is processed, but not afterwards', async () => {
    const load = start()
    const request = upload(60)
    const reading = readBody(request, load)
    request.push(Buffer.alloc(40))
    await new Promise(setImmediate)
    expect(load.bodyBytes).toBe(40)
    request.push(Buffer.alloc(20))
    request.push(null)
    const body = await reading
    expect(load.bodyBytes).toBe(60)
    body[Symbol.dispose]()
    expect(load.bodyBytes).toBe(0)
  })

  test('a body whose client stops sending makes room for newer requests', async () => {
    const load = start()
    const stalled = [upload(90), upload(90)]
    const outcomes = stalled.map((request) => outcomeOf(readBody(request, load)))
    for (const request of stalled) {
      request.push(Buffer.alloc(45))
      await new Promise(setImmediate)
    }
    const late = upload(50)
    const reading = readBody(late, load)
    late.push(Buffer.alloc(50))
    late.push(null)
    using body = await reading
    expect(await outcomes[0]).toBe('overloaded')
    expect(body.bytes.length).toBe(50)
    expect(load.bodyBytes).toBe(95)
    stalled[1]?.destroy()
    expect(await outcomes[1]).not.toBe('overloaded')
    expect(load.bodyBytes).toBe(50)
  })

  test('a body whose request is being processed does not make room: newer requests are refused', async () => {
    const load = start()
    const first = upload(90)
    const reading = readBody(first, load)
    first.push(Buffer.alloc(90))
    first.push(null)
    using _ = await reading
    const second = upload(20)
    const outcome = outcomeOf(readBody(second, load))
    second.push(Buffer.alloc(20))
    expect(await outcome).toBe('overloaded')
    expect(load.bodyBytes).toBe(90)
  })

  test('a body that exceeds its own limit, or is aborted, no longer counts', async () => {
    const load = createLoad({ logger, maxRequests: 10 })
    const large = upload(97 * 1024)
    const broken = upload(50)
    const outcomes = [large, broken].map((request) => outcomeOf(readBody(request, load)))
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

const [READ, WRITE, PROBE] = (['read', 'write', 'probe'] as const).map((kind) => ({ kind })) as [Slot, Slot, Slot]
const take = (load: ReturnType<typeof createLoad>, slot: Slot): string => {
  try {
    load.begin(slot)
    return 'taken'
  } catch (error) {
    return error instanceof Overloaded ? 'refused' : String(error)
  }
}

describe('the number of requests under way is limited', () => {
  test.each([
    ['reads', READ, WRITE],
    ['writes', WRITE, READ],
  ])(
    'three quarters of the slots may hold %s; the rest is for the other kind, and finished requests free their slots',
    (_, many, few) => {
      const load = createLoad({ logger, maxRequests: 8, turn: { hasUsed: () => false } })
      const takeAll = (one: Slot): number =>
        Array.from({ length: 10 }, () => take(load, one)).filter((outcome) => outcome === 'taken').length
      expect(takeAll(many)).toBe(6)
      expect(takeAll(few)).toBe(2)
      expect(take(load, PROBE)).toBe('taken')
      expect(load.requests).toBe(8)
      for (let ended = 0; ended < 6; ended += 1) load.end(many)
      expect(takeAll(few)).toBe(4)
      expect(takeAll(many)).toBe(2)
    },
  )
})

test('a quarter of the requests may be unsigned, registered agents have the rest, and finished requests free their slots', () => {
  const [read, write, probe] = [READ, WRITE, PROBE].map((slot) => ({ ...slot, isUnsigned: true })) as [Slot, Slot, Slot]
  const load = createLoad({ logger, maxRequests: 8, turn: { hasUsed: () => false } })
  const unsigned = (): string[] => [read, write, read].map((one) => take(load, one))
  expect(unsigned()).toEqual(['taken', 'taken', 'refused'])
  expect(take(load, probe)).toBe('taken')
  load.end(probe)
  expect(take(load, write)).toBe('refused')
  expect(Array.from({ length: 6 }, (_, at) => take(load, at % 2 === 0 ? READ : WRITE))).not.toContain('refused')
  load.end(read)
  expect(unsigned()).toEqual(['taken', 'refused', 'refused'])
})

describe('a turn of the event loop accepts only as much work as it can finish in time', () => {
  test('past that time, requests are refused until the next turn: reads last, and probes never', async () => {
    let usedMs = 0
    const clocks = { now: () => usedMs, cpu: () => usedMs }
    const load = createLoad({ logger, maxRequests: 100, turn: createTurn(clocks) })
    const all = [{ kind: 'document' } as const, WRITE, READ, PROBE]
    const outcomes = (): string[] => all.map((one) => take(load, one))
    expect(outcomes()).toEqual(['taken', 'taken', 'taken', 'taken'])
    usedMs += MAX_TURN_MS * 0.2
    expect(outcomes()).toEqual(['refused', 'taken', 'taken', 'taken'])
    usedMs += MAX_TURN_MS * 0.7
    expect(outcomes()).toEqual(['refused', 'refused', 'taken', 'taken'])
    usedMs += MAX_TURN_MS
    expect(outcomes()).toEqual(['refused', 'refused', 'refused', 'taken'])
    await new Promise(setImmediate)
    expect(outcomes()).toEqual(['taken', 'taken', 'taken', 'taken'])
  })

  test('unsigned requests are refused first', () => {
    let usedMs = 0
    const clocks = { now: () => usedMs, cpu: () => usedMs }
    const load = createLoad({ logger, maxRequests: 100, turn: createTurn(clocks) })
    const all = [WRITE, READ]
    expect(all.map((one) => take(load, { ...one, isUnsigned: true }))).toEqual(['taken', 'taken'])
    usedMs += MAX_TURN_MS * 0.6
    expect(all.map((one) => take(load, { ...one, isUnsigned: true }))).toEqual(['refused', 'refused'])
    expect(all.map((one) => take(load, one))).toEqual(['taken', 'taken'])
  })

  test('CPU time that other programs used does not count', () => {
    let [nowMs, cpuMs] = [0, 0]
    const turn = createTurn({ now: () => nowMs, cpu: () => cpuMs })
    expect(turn.hasUsed(10)).toBe(false)
    nowMs = 1_000
    expect(turn.hasUsed(10)).toBe(false)
    cpuMs = 11
    expect(turn.hasUsed(10)).toBe(true)
  })
})
