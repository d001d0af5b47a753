import { randomBytes, randomUUID } from 'node:crypto'
import type { StreamPlace, StreamRequest } from '@svc/contracts/stream.ts'
import type { EventStream } from './event-stream.ts'

/** A stream that was made room for. */
export interface Seat {
  readonly agentId: string
  readonly after: number
  readonly leaseId: string
  readonly ticket: string
  /** Of the request that opened it. */
  readonly traceparent: string
  /** Undefined until it is fetched. */
  stream: EventStream | undefined
}

/** The streams of this process: those that are open, and those that wait to be fetched. */
export interface Streams {
  /** How many more there may be. */
  readonly room: number
  /** Of those that have theirs. */
  readonly leaseIds: readonly string[]
  readonly open: readonly EventStream[]
  /** Takes room at once; the caller makes sure that the agent may have it, or gives it back. */
  reserve(request: StreamRequest, traceparent: string): Seat
  /** From now on it can be fetched, for some seconds. */
  admit(seat: Seat): Pick<StreamPlace, 'ticket'>
  /** Fetches a stream, once. @returns undefined for a ticket that is none, is too late, or was used. */
  claim(ticket: string): Seat | undefined
  find(ticket: string): Seat | undefined
  /** Gives room and lease back. */
  leave(seat: Seat): void
  /** Closes those whose lease is not among these. */
  keepLeases(leaseIds: readonly string[], asked: readonly string[]): void
  closeAll(): void
}

export interface StreamsOptions {
  readonly capacity: number
  /** Called with leases that are over, and when there is room again. */
  readonly onLeft: (leaseId: string, hadNoRoom: boolean) => void
}

/** A gateway fetches a stream at once, or it is gone. */
const TICKET_MS = 5_000
const TICKET_BYTES = 32

export function createStreams({ capacity, onLeft }: StreamsOptions): Streams {
  const seats = new Map<string, Seat>()
  const timers = new Map<string, NodeJS.Timeout>()

  const streams: Streams = {
    get room() {
      return capacity - seats.size
    },
    get leaseIds() {
      const leased = [...seats.values()].filter(({ ticket, stream }) => timers.has(ticket) || stream !== undefined)
      return leased.map(({ leaseId }) => leaseId)
    },
    get open() {
      return [...seats.values()].flatMap(({ stream }) => stream ?? [])
    },
    reserve({ agent_id: agentId, after }, traceparent) {
      const ticket = randomBytes(TICKET_BYTES).toString('base64url')
      const seat: Seat = { agentId, after, leaseId: randomUUID(), ticket, traceparent, stream: undefined }
      seats.set(ticket, seat)
      return seat
    },
    admit(seat) {
      timers.set(
        seat.ticket,
        setTimeout(() => streams.leave(seat), TICKET_MS),
      )
      return { ticket: seat.ticket }
    },
    claim(ticket) {
      const timer = timers.get(ticket)
      if (timer === undefined) return undefined
      clearTimeout(timer)
      timers.delete(ticket)
      return seats.get(ticket)
    },
    find: (ticket) => seats.get(ticket),
    leave(seat) {
      const hadNoRoom = streams.room <= 0
      clearTimeout(timers.get(seat.ticket))
      timers.delete(seat.ticket)
      if (seats.delete(seat.ticket)) onLeft(seat.leaseId, hadNoRoom)
    },
    keepLeases(leaseIds, asked) {
      const kept = new Set(leaseIds)
      const lost = new Set(asked.filter((id) => !kept.has(id)))
      for (const seat of seats.values()) {
        if (!lost.has(seat.leaseId)) continue
        if (seat.stream === undefined) streams.leave(seat)
        else seat.stream.close()
      }
    },
    closeAll() {
      for (const seat of seats.values()) {
        if (seat.stream === undefined) streams.leave(seat)
        else seat.stream.close()
      }
    },
  }
  return streams
}
