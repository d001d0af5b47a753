/** Limits the memory and slots that answers and event streams hold while slow clients read them. */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { httpClosed, httpUnsent } from '../../metrics.ts'

/** Maximum bytes of unsent answers. With 64 MiB of request bodies, this is less than half of the 512 MiB in the manifests. */
const MAX_UNSENT_BYTES: number = 64 * 1024 * 1024
/** Memory that an answer takes besides its text: request, response, headers. */
const ANSWER_BYTES = 2 * 1024
/**
 * Share of the request slots that answers may hold while they have not left. Reads may use three quarters of the slots (load.ts).
 * Slow readers and unsigned requests may use a quarter each, so the third quarter remains for registered agents.
 */
const SLOTS_SHARE = 0.25
/**
 * Share of the request slots that unsent answers to one client address may hold. That is about the burst of its rate (200).
 */
const CLIENT_SLOTS_SHARE = 0.2
/** Share of `MAX_UNSENT_BYTES` that unsent answers to one client address may hold. */
const CLIENT_BYTES_SHARE = 0.25

/** A client must read its answers at least at this rate. It must send at about the same rate (96 KiB in 20 s). */
const MIN_BYTES_PER_SECOND = 4_096
/** The rate is an average over this time, so a connection on which bytes wait and none leave is closed after this time. */
const PATIENCE_SECONDS = 20
const SWEEP_SECONDS = 1

export interface Outflow extends Disposable {
  /** Answers that have not left. */
  readonly answers: number
  /** Memory that these answers hold, in bytes. */
  readonly bytes: number
  /** Counts an answer from now until it has left, or until its connection is closed because its client reads too slowly. */
  track(response: ServerResponse, leaving: LeavingAnswer): void
  /**
   * Counts the bytes of a stream that wait for its client, until the stream's last byte has left. A stream may be idle for any
   * time, but bytes that wait must leave as those of an answer do.
   */
  trackStream(response: ServerResponse, client: string, source: Readable): void
}

interface LeavingAnswer {
  readonly client: string
  /** Bytes of its text; 0 if the text is shared with other answers. */
  readonly bytes: number
  /** Called exactly once. */
  readonly onLeft: () => void
}

export interface OutflowOptions {
  /** Maximum number of requests in progress in the process. */
  readonly maxRequests: number
  /** Called about once a second for each tracked connection that is read, or on which nothing waits. */
  readonly onProgress?: (socket: Socket) => void
  /** For tests, as are the options below. */
  readonly maxBytes?: number
  readonly minBytesPerSecond?: number
  readonly patienceSeconds?: number
}

/** A connection with answers that have not left. */
interface Reader {
  readonly socket: Socket
  readonly client: Holding
  readonly answers: Map<ServerResponse, LeavingAnswer>
  /** The stream that the client reads, if any. */
  source: Readable | undefined
  /** Bytes of the stream that waited when they were last counted. */
  streamBytes: number
  readonly onClose: () => void
  /** For how many more seconds it may read nothing before it is closed. */
  credit: number
  /** Bytes that the kernel had taken when the credit was last computed, and the time of that. */
  taken: number
  atMs: number
}

/** Totals of the unsent answers to one client address. */
interface Holding {
  readonly key: string
  answers: number
  bytes: number
}

export function createOutflow({
  maxRequests,
  onProgress = () => {},
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
      enforceBounds(reader.client)
    },
    trackStream(response, client, source) {
      const { socket } = response.req
      if (socket.destroyed) return
      const reader = readers.get(socket) ?? addReader(socket, client)
      reader.source = source
      response.once('close', () => {
        countStream(reader, 0)
        reader.source = undefined
        removeIfDone(reader)
      })
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
      source: undefined,
      streamBytes: 0,
      onClose: () => forgetAll(reader),
      credit: patienceSeconds,
      taken: takenBy(socket),
      atMs: performance.now(),
    }
    readers.set(socket, reader)
    // An answer that is queued behind another gets no event of its own when the connection closes.
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
    removeIfDone(reader)
    leaving.onLeft()
  }

  function forgetAll(reader: Reader): void {
    countStream(reader, 0)
    reader.source = undefined
    for (const response of reader.answers.keys()) forget(reader, response)
    removeIfDone(reader)
  }

  function removeIfDone({ socket, client, answers, source, onClose }: Reader): void {
    if (answers.size > 0 || source !== undefined) return
    readers.delete(socket)
    socket.off('close', onClose)
    if (client.answers === 0 && client.bytes === 0) clients.delete(client.key)
  }

  function countStream(reader: Reader, bytes: number): void {
    for (const holding of [reader.client, all]) holding.bytes += bytes - reader.streamBytes
    reader.streamBytes = bytes
  }

  function enforceBounds(client: Holding): void {
    while (exceeds(client, maxOfClient)) closeSlowest(client)
    while (exceeds(all, max)) closeSlowest()
  }

  /** Closes the reader with the least credit left. If several have the same credit, closes the one tracked for longest. */
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
      if (reader.credit <= 0) {
        close(reader, 'slow_reader')
        continue
      }
      if (reader.source === undefined) continue
      countStream(reader, reader.socket.writableLength + reader.source.readableLength)
      enforceBounds(reader.client)
    }
  }

  function updateCredit(reader: Reader, nowMs: number): void {
    const taken = takenBy(reader.socket)
    const hasProgress = taken > reader.taken || reader.socket.writableLength === 0
    if (hasProgress) onProgress(reader.socket)
    // If this process itself stalled, do not count that time against its clients.
    const seconds = Math.min((nowMs - reader.atMs) / 1_000, 2 * SWEEP_SECONDS)
    const earned = (taken - reader.taken) / minBytesPerSecond
    if (reader.socket.writableLength === 0) reader.credit = patienceSeconds
    else reader.credit = Math.min(reader.credit - seconds + earned, patienceSeconds)
    reader.taken = taken
    reader.atMs = nowMs
  }

  /** Closes with a reset. After a normal close the kernel would keep the bytes buffered for a client that does not read. */
  function close(reader: Reader, reason: 'unsent' | 'slow_reader'): void {
    httpClosed.add({ reason })
    forgetAll(reader)
    reader.socket.resetAndDestroy()
  }
}

function exceeds(holding: { answers: number; bytes: number }, max: { answers: number; bytes: number }): boolean {
  return holding.answers > max.answers || holding.bytes > max.bytes
}

/** How many of the bytes written to the connection the kernel has taken. */
function takenBy(socket: Socket): number {
  return socket.bytesWritten - socket.writableLength
}
