/** Bounds what answers hold of this process while slow clients take them. Event streams are bounded where they are made. */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { httpClosed, httpUnsent } from './http-metrics.ts'

/** Of answers that have not left. With 64 MiB of bodies that come in, less than half of the 512 MiB that a manifest gives. */
export const MAX_UNSENT_BYTES: number = 64 * 1024 * 1024
/** What an answer holds beside its text: request, response, headers. */
const ANSWER_BYTES = 2 * 1024
/**
 * Of the request slots, the share that answers may hold which have not left. Reads have three quarters of the slots (load.ts): slow
 * readers and unsigned requests, a quarter each, leave the third quarter to registered agents.
 */
const SLOTS_SHARE = 0.25
/**
 * Of the request slots, the share that answers to one client address may hold which have not left. As many as its rate admits at
 * once (200).
 */
const CLIENT_SLOTS_SHARE = 0.2
/** Of the bytes, the share of one client address. */
const CLIENT_BYTES_SHARE = 0.25

/** A client takes its answers at this rate at least, as it must send at about this rate (96 KiB in 20 s). */
export const MIN_BYTES_PER_SECOND = 4_096
/** The rate is an average over this time, so a connection that stalls is closed this much later. */
export const PATIENCE_SECONDS = 20
const SWEEP_SECONDS = 1

export interface Outflow extends Disposable {
  /** Answers that have not left. */
  readonly answers: number
  /** What they hold, in bytes. */
  readonly bytes: number
  /** Counts an answer from the moment it is written until it has left, or until its connection is closed because it is too slow. */
  track(response: ServerResponse, leaving: LeavingAnswer): void
}

export interface LeavingAnswer {
  readonly client: string
  /** Of its text; none if the text is shared with other answers. */
  readonly bytes: number
  /** Called once. */
  readonly onLeft: () => void
}

export interface OutflowOptions {
  /** Requests that the process works on at most. */
  readonly maxRequests: number
  /** Other than the defaults for tests. */
  readonly maxBytes?: number
  readonly minBytesPerSecond?: number
  readonly patienceSeconds?: number
}

/** A connection with answers that have not left. */
interface Reader {
  readonly socket: Socket
  readonly client: Holding
  readonly answers: Map<ServerResponse, LeavingAnswer>
  readonly onClose: () => void
  /** Seconds for which it may still take nothing. */
  credit: number
  /** Bytes that the kernel had taken when the credit was computed, and when that was. */
  taken: number
  atMs: number
}

/** What the answers to one client address hold. */
interface Holding {
  readonly key: string
  answers: number
  bytes: number
}

export function createOutflow({
  maxRequests,
  maxBytes = MAX_UNSENT_BYTES,
  minBytesPerSecond = MIN_BYTES_PER_SECOND,
  patienceSeconds = PATIENCE_SECONDS,
}: OutflowOptions): Outflow {
  const max = { answers: Math.ceil(maxRequests * SLOTS_SHARE), bytes: maxBytes }
  const maxOfClient = { answers: Math.ceil(maxRequests * CLIENT_SLOTS_SHARE), bytes: maxBytes * CLIENT_BYTES_SHARE }
  const readers = new Map<Socket, Reader>()
  const clients = new Map<string, Holding>()
  const all = { answers: 0, bytes: 0 }
  const level = httpUnsent.read(() => [[{}, all.bytes]])
  const sweep = setInterval(closeStalled, SWEEP_SECONDS * 1_000).unref()

  return {
    get answers() {
      return all.answers
    },
    get bytes() {
      return all.bytes
    },
    track(response, leaving) {
      const { socket } = response.req
      if (socket.destroyed) {
        leaving.onLeft()
        return
      }
      const reader = readers.get(socket) ?? addReader(socket, leaving.client)
      reader.answers.set(response, leaving)
      count(reader.client, leaving, 1)
      response.once('close', () => forget(reader, response))
      while (exceeds(reader.client, maxOfClient)) closeSlowest(reader.client)
      while (exceeds(all, max)) closeSlowest()
    },
    [Symbol.dispose]() {
      clearInterval(sweep)
      level[Symbol.dispose]()
    },
  }

  function addReader(socket: Socket, key: string): Reader {
    const client = clients.get(key) ?? { key, answers: 0, bytes: 0 }
    clients.set(key, client)
    const reader: Reader = {
      socket,
      client,
      answers: new Map(),
      onClose: () => forgetAll(reader),
      credit: patienceSeconds,
      taken: takenBy(socket),
      atMs: performance.now(),
    }
    readers.set(socket, reader)
    // An answer that waits for its turn on a connection that is gone has no event of its own.
    socket.once('close', reader.onClose)
    return reader
  }

  function count(client: Holding, { bytes }: LeavingAnswer, sign: 1 | -1): void {
    for (const holding of [client, all]) {
      holding.answers += sign
      holding.bytes += sign * (bytes + ANSWER_BYTES)
    }
  }

  function forget(reader: Reader, response: ServerResponse): void {
    const leaving = reader.answers.get(response)
    if (leaving === undefined) return
    reader.answers.delete(response)
    count(reader.client, leaving, -1)
    if (reader.client.answers === 0) clients.delete(reader.client.key)
    if (reader.answers.size === 0) {
      readers.delete(reader.socket)
      reader.socket.off('close', reader.onClose)
    }
    leaving.onLeft()
  }

  function forgetAll(reader: Reader): void {
    for (const response of reader.answers.keys()) forget(reader, response)
  }

  /** The slowest is the one that used up most of its credit; of several, the one that has been at it for longest. */
  function closeSlowest(client?: Holding): void {
    const nowMs = performance.now()
    let slowest: Reader | undefined
    for (const reader of readers.values()) {
      if (client !== undefined && reader.client !== client) continue
      updateCredit(reader, nowMs)
      if (slowest === undefined || reader.credit < slowest.credit) slowest = reader
    }
    if (slowest !== undefined) close(slowest, 'unsent')
  }

  function closeStalled(): void {
    const nowMs = performance.now()
    for (const reader of readers.values()) {
      updateCredit(reader, nowMs)
      if (reader.credit <= 0) close(reader, 'slow_reader')
    }
  }

  function updateCredit(reader: Reader, nowMs: number): void {
    const taken = takenBy(reader.socket)
    // If this process itself stood still, its clients are not to blame for that time.
    const seconds = Math.min((nowMs - reader.atMs) / 1_000, 2 * SWEEP_SECONDS)
    const earned = (taken - reader.taken) / minBytesPerSecond
    reader.credit = Math.min(reader.credit - seconds + earned, patienceSeconds)
    reader.taken = taken
    reader.atMs = nowMs
  }

  /** With a reset: after a mere close the kernel would keep what it has taken for a client that does not read. */
  function close(reader: Reader, reason: 'unsent' | 'slow_reader'): void {
    httpClosed.add({ reason })
    forgetAll(reader)
    reader.socket.resetAndDestroy()
  }
}

function exceeds(holding: { answers: number; bytes: number }, max: { answers: number; bytes: number }): boolean {
  return holding.answers > max.answers || holding.bytes > max.bytes
}

/** Bytes that the kernel has taken of all that was written to the connection. */
function takenBy(socket: Socket): number {
  return socket.bytesWritten - socket.writableLength
}
