import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createStreams } from './streams.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const request = { agent_id: 'agent', after: 0 }

describe('design.md, Streams: a ticket works once, for seconds', () => {
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
