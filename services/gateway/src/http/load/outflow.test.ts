import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { createLogger } from '@svc/telemetry/logger.ts'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Load } from './load.ts'
import { Outflow } from './outflow.ts'

const MAX_BYTES = 800_000
const RATE = 1_000
const PATIENCE_SECONDS = 10

let outflow: Outflow
let left: string[]
let closed: string[]
beforeEach(() => {
  vi.useFakeTimers()
  left = []
  closed = []
  outflow = new Outflow({
    maxRequests: 32,
    maxBytes: MAX_BYTES,
    minBytesPerSecond: RATE,
    patienceSeconds: PATIENCE_SECONDS,
  })
})
afterEach(() => {
  outflow[Symbol.dispose]()
  vi.useRealTimers()
})

/** A client's connection. The test sets how many bytes the kernel takes. */
class Reader extends EventEmitter {
  bytesWritten = 0
  writableLength = 1
  destroyed = false
  readonly name: string

  constructor(name: string) {
    super()
    this.name = name
  }

  resetAndDestroy(): void {
    this.destroyed = true
    closed.push(this.name)
  }

  take(bytes: number): void {
    this.bytesWritten += bytes
  }

  /** Lets this many bytes wait. */
  hold(bytes: number): void {
    this.bytesWritten += bytes - this.writableLength
    this.writableLength = bytes
  }

  /** @returns ends the answer. */
  answer(bytes: number, client = this.name): () => void {
    const response = Object.assign(new EventEmitter(), { req: { socket: this } })
    outflow.trackAnswer(response as unknown as ServerResponse, { client, bytes, onLeft: () => left.push(this.name) })
    return () => response.emit('close')
  }
}

/** A stream whose bytes wait in the process. */
function openStream(reader: Reader, client: string): { source: { readableLength: number }; end: () => void } {
  const response = Object.assign(new EventEmitter(), { req: { socket: reader } })
  const source = { readableLength: 0 }
  outflow.trackStream(response as unknown as ServerResponse, client, source as Readable)
  return { source, end: () => response.emit('close') }
}

const seconds = (count: number): void => void vi.advanceTimersByTime(count * 1_000)

describe('unsent answers', () => {
  test('count until they are sent, or until their connection is closed', () => {
    const [anna, ben] = [new Reader('anna'), new Reader('ben')]
    const end = anna.answer(1_000)
    ben.answer(1_000)
    ben.answer(1_000)
    expect(outflow.answers).toBe(3)
    expect(outflow.bytes).toBeGreaterThan(3_000)
    end()
    end()
    ben.emit('close')
    expect(left).toEqual(['anna', 'ben', 'ben'])
    expect([outflow.answers, outflow.bytes]).toEqual([0, 0])
    expect(closed).toEqual([])
  })

  test('on a closed connection do not count', () => {
    const anna = new Reader('anna')
    anna.destroyed = true
    anna.answer(1_000)
    expect(left).toEqual(['anna'])
    expect(outflow.answers).toBe(0)
  })
})

describe('a client that takes less than the minimum rate', () => {
  test('is disconnected when its tolerance is used up, and a client at the rate is not', () => {
    const [stalled, dripping, steady] = [new Reader('stalled'), new Reader('dripping'), new Reader('steady')]
    for (const reader of [stalled, dripping, steady]) reader.answer(1_000)
    for (let second = 0; second < PATIENCE_SECONDS * 5; second += 1) {
      dripping.take(RATE / 2)
      steady.take(RATE)
      seconds(1)
    }
    expect(closed).toEqual(['stalled', 'dripping'])
    expect(outflow.answers).toBe(1)
    expect(left).toEqual(['stalled', 'dripping'])
  })

  test('cannot save up: reading fast earlier does not allow a longer stall', () => {
    const anna = new Reader('anna')
    anna.answer(1_000)
    anna.take(RATE * 1_000)
    seconds(PATIENCE_SECONDS + 1)
    expect(closed).toEqual(['anna'])
  })

  test('is not charged for the time in which this process was paused', () => {
    const anna = new Reader('anna')
    anna.answer(1_000)
    vi.setSystemTime(Date.now() + 1_000)
    const now = performance.now()
    const stalled = vi.spyOn(performance, 'now').mockReturnValue(now + PATIENCE_SECONDS * 10_000)
    seconds(1)
    expect(closed).toEqual([])
    stalled.mockRestore()
  })
})

describe('past a bound the slowest is closed first', () => {
  const LARGE = MAX_BYTES / 10

  test('of an address that holds more than a quarter of the bytes, and of no other address', () => {
    const [other, steady, stalled] = [new Reader('other'), new Reader('steady'), new Reader('stalled')]
    other.answer(LARGE)
    steady.answer(LARGE, 'one address')
    stalled.answer(LARGE, 'one address')
    for (let second = 0; second < 3; second += 1) {
      steady.take(RATE)
      seconds(1)
    }
    new Reader('late').answer(LARGE, 'one address')
    expect(closed).toEqual(['stalled'])
    expect(outflow.bytes).toBeLessThanOrEqual(MAX_BYTES)
  })

  test('of all, when they hold too many bytes together', () => {
    const readers = Array.from({ length: 7 }, (_, at) => new Reader(`reader ${at}`))
    for (const reader of readers) reader.answer(MAX_BYTES / 8)
    for (const reader of readers) if (reader !== readers[4]) reader.take(RATE)
    seconds(1)
    new Reader('late').answer(MAX_BYTES / 8)
    expect(closed).toEqual(['reader 4'])
    expect(outflow.bytes).toBeLessThanOrEqual(MAX_BYTES)
  })

  test('of an address that holds a fifth of the request slots, and of all addresses if they hold a quarter', () => {
    const greedy = Array.from({ length: 8 }, (_, at) => new Reader(`greedy ${at}`))
    for (const reader of greedy) reader.answer(0, 'greedy')
    expect(closed).toEqual(['greedy 0'])
    const others = Array.from({ length: 2 }, (_, at) => new Reader(`other ${at}`))
    for (const reader of others) reader.answer(0)
    expect(closed).toEqual(['greedy 0', 'greedy 1'])
    expect(outflow.answers).toBe(8)
  })
})

describe('an event stream', () => {
  test('may be idle for any time, and is closed if bytes wait and leave too slowly, also after its end', () => {
    const [idle, slow] = [new Reader('idle'), new Reader('slow')]
    openStream(idle, 'idle')
    openStream(slow, 'slow')
    for (const reader of [idle, slow]) reader.hold(0)
    seconds(PATIENCE_SECONDS * 10)
    expect(closed).toEqual([])
    slow.hold(100)
    for (let second = 0; second < PATIENCE_SECONDS + 1; second += 1) {
      slow.take(RATE / 20)
      seconds(1)
    }
    expect(closed).toEqual(['slow'])
  })

  test('takes no slot of the answers, and its waiting bytes count until it is closed', () => {
    const anna = new Reader('anna')
    const { source, end } = openStream(anna, 'anna')
    anna.hold(1_000)
    source.readableLength = 500
    seconds(1)
    expect([outflow.answers, outflow.bytes]).toEqual([0, 1_500])
    end()
    expect(outflow.bytes).toBe(0)
    const [first, second] = [new Reader('first'), new Reader('second')]
    for (const reader of [first, second]) {
      openStream(reader, 'one address')
      reader.hold(MAX_BYTES / 6)
    }
    second.take(RATE)
    seconds(1)
    expect(closed).toEqual(['first'])
  })
})

test('slow readers and unsigned requests together leave registered agents a quarter of the request slots for reads', () => {
  const maxRequests = 64
  let clients = 0
  const read = () => ({ kind: 'read', client: `${clients++}` }) as const
  const load = new Load({ logger: createLogger('test', 'silent'), maxRequests })
  using many = new Outflow({ maxRequests })
  for (let at = 0; at < maxRequests; at += 1) {
    const slot = read()
    load.resumeRequest(slot)
    const response = Object.assign(new EventEmitter(), { req: { socket: new Reader(`reader ${at}`) } })
    many.trackAnswer(response as unknown as ServerResponse, {
      client: `${at}`,
      bytes: 0,
      onLeft: () => load.endRequest(slot),
    })
  }
  const beginAll = (isUnsigned: boolean): number => {
    for (let taken = 0; ; taken += 1) {
      try {
        load.beginRequest({ ...read(), isUnsigned })
      } catch {
        return taken
      }
    }
  }
  expect(beginAll(true)).toBe(maxRequests / 4)
  expect(beginAll(false)).toBe(maxRequests / 4)
})
