import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { EventStream } from './event-stream.ts'
import { createStreams } from './streams.ts'

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

  test('for five seconds: then room and lease are released', () => {
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

test('spec 9.8: if the owner of the leases is unknown, all streams are closed, and waiting seats are left', () => {
  const closed: string[] = []
  const left: string[] = []
  const streams = createStreams({ capacity: 10, onLeft: (leaseId) => left.push(leaseId) })
  const { ticket } = streams.admit(streams.reserve(request, ''))
  const seat = streams.claim(ticket)
  if (seat === undefined) throw new Error('a ticket works once')
  // An open stream, of which this test needs only its end.
  const close = () => void closed.push(seat.leaseId)
  seat.stream = Object.assign(Object.create(EventStream.prototype) as EventStream, { close })
  const waiting = streams.reserve(request, '')
  streams.admit(waiting)
  streams.closeAll()
  expect([closed, left]).toEqual([[seat.leaseId], [waiting.leaseId]])
})
