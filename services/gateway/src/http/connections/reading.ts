/**
 * Decides when connections are read. Node reads up to 64 KiB at once and parses all of it before it serves another connection.
 * That can be 3,600 short requests or 10,900 chunks of one byte, and takes up to 30 ms. So a connection that brings that much is
 * read again when it is its client's turn, and each turn of the event loop reads one such connection.
 */
import type { Socket } from 'node:net'
import { setImmediate as turnEnd } from 'node:timers/promises'
import { FairQueue } from '@svc/batching/fair-queue.ts'
import { TURN_MS } from '../load/request-turns.ts'
import type { Turn } from '../load/turn.ts'
import type { Clients } from './client.ts'
import { connectionOf } from './connection.ts'
import type { ConnectionRoom } from './connection-limits.ts'

export interface Reading {
  /** Stops reading a connection. The bytes that were already read are still parsed. */
  pause(socket: Socket): void
  /** When the last pause of the connection ended, by `performance.now()`. Infinity during a pause, 0 if there was none. */
  resumedMs(socket: Socket): number
  /** Reads a paused connection again. */
  resume(socket: Socket): void
  /** Reads a paused connection again when it is its client's turn. @returns when its turn is over. */
  resumeInTurn(socket: Socket): Promise<void>
  /** Call this for a connection that brought much. In a long turn, the other connections of its client wait for their turns too. */
  noteMuch(socket: Socket): void
}

interface ReadingOptions {
  readonly clients: Pick<Clients, 'ofConnection'>
  readonly room: Pick<ConnectionRoom, 'neighboursOf'>
  readonly turn: Turn
}

export function createReading({ clients, room, turn }: ReadingOptions): Reading {
  const turns = new FairQueue({ atOnce: 1 })
  const resumedMs = new WeakMap<Socket, number>()
  const isPaused = (socket: Socket): boolean => resumedMs.get(socket) === Number.POSITIVE_INFINITY

  const reading: Reading = {
    pause(socket) {
      resumedMs.set(socket, Number.POSITIVE_INFINITY)
      // Node resumes a connection when it has parsed a request, and reads on in the next tick. Microtasks run after that.
      queueMicrotask(() => {
        if (isPaused(socket)) socket.pause()
      })
    },
    resumedMs: (socket) => resumedMs.get(socket) ?? 0,
    resume(socket) {
      if (isPaused(socket)) resumedMs.set(socket, performance.now())
      if (!socket.destroyed && !connectionOf(socket).isBroken) socket.resume()
    },
    async resumeInTurn(socket) {
      const client = clients.ofConnection(socket) ?? socket.remoteAddress ?? ''
      await turns.runInTurn({ key: client }, async () => {
        if (socket.destroyed) return
        reading.resume(socket)
        await turnEnd()
        await turnEnd()
      })
    },
    noteMuch(socket) {
      if (!turn.hasUsed(TURN_MS)) return
      for (const other of room.neighboursOf(socket)) {
        if (isPaused(other)) continue
        reading.pause(other)
        void reading.resumeInTurn(other)
      }
    },
  }
  return reading
}
