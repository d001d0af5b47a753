import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { EventStream } from './event-stream.ts'
import { createStreams, type Seat, type Streams } from './streams.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const request = { agent_id: 'agent', after: 0 }

describe('a ticket works once, for seconds', () => {
  test('once', () => {
    const streams = createStreams({ capacity: 2, onLeft: () => {} })
    const { ticket } = streams.admit(streams.reserve(request, ''))
    expect(streams.claim(ticket)).toMatchObject({ agentId: 'agent' })
    expect(streams.claim(ticket)).toBeUndefined()
  })

  test('for five seconds: then room and lease are given back', () => {
    const left: string[] = []
    const streams = createStreams({ capacity: 1, onLeft: (leaseId) => left.push(leaseId) })
    const seat = streams.reserve(request, '')
    const { ticket } = streams.admit(seat)
    expect(streams.room).toBe(0)
    vi.advanceTimersByTime(4_999)
    expect(left).toEqual([])
    vi.advanceTimersByTime(1)
    expect([streams.claim(ticket), streams.room, left]).toEqual([undefined, 1, [seat.leaseId]])
  })

  test('not before its lease is taken, and no two are alike', () => {
    const streams = createStreams({ capacity: 1_000, onLeft: () => {} })
    const seats = Array.from({ length: 1_000 }, () => streams.reserve(request, ''))
    expect(new Set(seats.map(({ ticket }) => ticket)).size).toBe(1_000)
    for (const { ticket } of seats) expect(streams.claim(ticket)).toBeUndefined()
  })
})

describe('spec 9.8: two for each identity, so a stream that has lost its lease is closed', () => {
  /** An open stream, of which this test needs only its end. */
  function opened(streams: Streams, closed: string[]): Seat {
    const { ticket } = streams.admit(streams.reserve(request, ''))
    const seat = streams.claim(ticket)
    if (seat === undefined) throw new Error('a ticket works once')
    const close = () => void closed.push(seat.leaseId)
    seat.stream = Object.assign(Object.create(EventStream.prototype) as EventStream, { close })
    return seat
  }

  test('those that were asked about and not renewed, and none that was opened meanwhile', () => {
    const closed: string[] = []
    const left: string[] = []
    const streams = createStreams({ capacity: 10, onLeft: (leaseId) => left.push(leaseId) })
    const [kept, lost] = [opened(streams, closed), opened(streams, closed)]
    const waiting = streams.reserve(request, '')
    streams.admit(waiting)
    const asked = streams.leaseIds
    opened(streams, closed)
    streams.keepLeases([kept.leaseId], asked)
    expect([closed, left]).toEqual([[lost.leaseId], [waiting.leaseId]])
  })

  test('all, where it is not known whose leases they are', () => {
    const closed: string[] = []
    const streams = createStreams({ capacity: 10, onLeft: () => {} })
    const seats = [opened(streams, closed), opened(streams, closed)]
    streams.closeAll()
    expect(closed).toEqual(seats.map(({ leaseId }) => leaseId))
  })
})
