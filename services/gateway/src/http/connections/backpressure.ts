/**
 * Shares a busy process fairly. Even to refuse a request, this process must read and parse it, and long heads or bodies make that
 * expensive. So when a turn of the event loop takes long, or a request is refused because of overload, this process stops reading
 * for a while from clients that send more than the average. Their data waits in the kernel's buffers, and then in their own.
 */
import { randomInt } from 'node:crypto'
import type { Socket } from 'node:net'
import { httpPaused } from '../../metrics.ts'
import { createTurn, type Turn } from '../load/turn.ts'
import type { Clients } from './client.ts'
import { createShares } from './shares.ts'

export interface Backpressure {
  /** Call this for each new connection. */
  enter(socket: Socket): void
  /** Call this when the head of a request has arrived. Pauses its client if the turn is long and the client sends a lot. */
  note(socket: Socket): void
  /** Call this when a request was refused because of overload. Pauses its client if the client sends a lot. */
  refused(socket: Socket): void
}

/** The client of a connection. Trusted proxies have none, because their connections carry requests of many clients. */
interface Sender {
  readonly client: string
  /** Bytes that had been read from the connection when its last request was noted. */
  bytes: number
}

interface BackpressureOptions {
  readonly clients: Pick<Clients, 'ofConnection'>
  /** For tests. */
  readonly turn?: Turn
  /** Replaces the timer that ends a pause; for tests. */
  readonly after?: (work: () => void, ms: number) => void
}

/** Clients are paused once a turn has used this much CPU. A request takes several turns, so long turns delay every client. */
const LONG_TURN_MS = 50
/** Far shorter than the 5 s in which a client gets its answer (spec 3.17), and random, so that clients do not all return at once. */
const MIN_PAUSE_MS = 1_000
const MAX_PAUSE_MS = 2_000
/** The fixed cost of a request, expressed in bytes. */
const REQUEST_BYTES = 1_024

export function createBackpressure({
  clients,
  turn = createTurn(),
  after = (work, ms) => void setTimeout(work, ms).unref(),
}: BackpressureOptions): Backpressure {
  const shares = createShares()
  const connections = new Map<string, Set<Socket>>()
  const paused = new Set<string>()
  const senders = new WeakMap<Socket, Sender>()

  return {
    enter(socket) {
      const client = clients.ofConnection(socket)
      if (client === undefined) return
      senders.set(socket, { client, bytes: 0 })
      const own = connections.get(client) ?? new Set()
      connections.set(client, own.add(socket))
      socket.once('close', () => {
        own.delete(socket)
        if (own.size === 0) connections.delete(client)
      })
      if (paused.has(client)) pause(socket)
    },
    note(socket) {
      const sender = senders.get(socket)
      if (sender === undefined) return
      const { bytesRead } = socket
      shares.add(sender.client, REQUEST_BYTES + bytesRead - sender.bytes)
      sender.bytes = bytesRead
      if (turn.hasUsed(LONG_TURN_MS)) pauseIfAbove(sender.client)
    },
    refused(socket) {
      const sender = senders.get(socket)
      if (sender !== undefined) pauseIfAbove(sender.client)
    },
  }

  function pauseIfAbove(client: string): void {
    if (paused.has(client) || !shares.isAboveAverage(client)) return
    httpPaused.add({})
    paused.add(client)
    for (const own of connections.get(client) ?? []) pause(own)
    after(
      () => {
        paused.delete(client)
        for (const own of connections.get(client) ?? []) resume(own)
      },
      randomInt(MIN_PAUSE_MS, MAX_PAUSE_MS),
    )
  }
}

/** Node's HTTP server resumes reading after every request unless `_paused` is set. It sets it itself, to wait for slow readers. */
interface ReadSocket extends Socket {
  _paused?: boolean
  readonly parser?: { resume(): void } | null
}

function pause(socket: ReadSocket): void {
  socket._paused = true
  socket.pause()
}

function resume(socket: ReadSocket): void {
  if (socket.destroyed) return
  socket._paused = false
  socket.parser?.resume() // Node pauses it at the end of a read in which `_paused` was set
  socket.resume()
}
