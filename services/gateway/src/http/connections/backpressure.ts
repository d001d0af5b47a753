/**
 * Shares a busy process fairly. Even a refusal needs a request that was read and parsed, and long heads or bodies make that
 * expensive. So when a turn of the event loop takes long, this process stops reading for a while from clients that send more
 * than others. What they send waits in the kernel, and then with them.
 */
import { randomInt } from 'node:crypto'
import type { Socket } from 'node:net'
import { httpPaused } from '../../metrics.ts'
import { createTurn, type Turn } from '../load/turn.ts'
import type { Clients } from './client.ts'
import { createShares } from './shares.ts'

export interface Backpressure {
  /** A connection is new. */
  enter(socket: Socket): void
  /** The head of a request has arrived. Its client is not read for a while, if it is one of those that keep others waiting. */
  note(socket: Socket): void
  /** A request was refused because of overload. Its client is not read for a while, if it is one of those. */
  refused(socket: Socket): void
}

/** Whose connection it is. Trusted proxies are none: their connections carry requests of many clients. */
interface Sender {
  readonly client: string
  /** Read from the connection before its last request. */
  bytes: number
}

interface BackpressureOptions {
  readonly clients: Pick<Clients, 'ofConnection'>
  /** For tests. */
  readonly turn?: Turn
  /** Ends a pause; for tests. */
  readonly after?: (work: () => void, ms: number) => void
}

/** CPU time of a turn from which on clients are paused. A request needs about five turns, each as long as this at most. */
const LONG_TURN_MS = 50
/** Far below the 5 s in which a client gets its answer (spec 3.17). Chosen at random, or all would come back at once. */
const MIN_PAUSE_MS = 1_000
const MAX_PAUSE_MS = 2_000
/** The work for a request that does not depend on its bytes, as a number of bytes. */
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

/** Node's HTTP server starts reading again after every request, except where it set `_paused` itself, to wait for a slow reader. */
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
