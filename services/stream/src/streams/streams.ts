import { randomBytes, randomUUID } from 'node:crypto'
import type { StreamPlace, StreamRequest } from '@svc/contracts/stream.ts'
import type { EventStream } from './event-stream.ts'

/** A place for one stream of this process. */
export interface Seat {
  readonly agentId: string
  readonly after: number
  readonly leaseId: string
  readonly ticket: string
  /** The trace of the request that opened the stream. */
  readonly traceparent: string
  /** Undefined until a gateway fetches the stream. */
  stream: EventStream | undefined
}

/** The streams of this process: open ones, and those that wait to be fetched. */
export interface Streams {
  /** How many more streams this process can hold. */
  readonly room: number
  /** The leases of all seats, including leases that are being taken. */
  readonly leaseIds: ReadonlySet<string>
  readonly open: readonly EventStream[]
  /** Takes a seat at once. The caller then takes a lease, and leaves the seat if that fails. */
  reserve(request: StreamRequest, traceparent: string): Seat
  /** Makes the stream available to be fetched, for some seconds. */
  admit(seat: Seat): Pick<StreamPlace, 'ticket'>
  /** Fetches a stream, once. @returns undefined if the ticket is unknown, expired or used. */
  claim(ticket: string): Seat | undefined
  find(ticket: string): Seat | undefined
  /** Gives the seat and its lease back. */
  leave(seat: Seat): void
  closeAll(): void
}

interface StreamsOptions {
  readonly capacity: number
  /** Called when a lease ends. `hadNoRoom` says whether the process was full until then. */
  readonly onLeft: (leaseId: string, hadNoRoom: boolean) => void
}

/** A gateway fetches a stream at once, or has died. */
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
      return new Set([...seats.values()].map(({ leaseId }) => leaseId))
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
    closeAll() {
      for (const seat of seats.values()) {
        if (seat.stream === undefined) streams.leave(seat)
        else seat.stream.close()
      }
    },
  }
  return streams
}
