/** Limits the memory and slots that answers and event streams hold while slow clients read them. */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { httpClosed, httpUnsent } from '../../metrics.ts'

/** Maximum bytes of unsent answers. With 64 MiB of request bodies, this is a sixth of the 768 MiB in the manifests. */
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

interface Bounds {
  answers: number
  bytes: number
}

/** Totals of the unsent answers to one client address. */
interface Holding extends Bounds {
  readonly key: string
}

/** Counts the answers and streams of a process that wait for their clients, and closes the connections that take too little. */
export class Outflow implements Disposable {
  readonly #max: Bounds
  readonly #maxOfClient: Bounds
  readonly #minBytesPerSecond: number
  readonly #patienceSeconds: number
  readonly #readers = new Map<Socket, Reader>()
  readonly #clients = new Map<string, Holding>()
  readonly #all = { answers: 0, bytes: 0 }
  readonly #running = new DisposableStack()

  constructor({
    maxRequests,
    maxBytes = MAX_UNSENT_BYTES,
    minBytesPerSecond = MIN_BYTES_PER_SECOND,
    patienceSeconds = PATIENCE_SECONDS,
  }: OutflowOptions) {
    this.#max = { answers: Math.ceil(maxRequests * SLOTS_SHARE), bytes: maxBytes }
    this.#maxOfClient = { answers: Math.ceil(maxRequests * CLIENT_SLOTS_SHARE), bytes: maxBytes * CLIENT_BYTES_SHARE }
    this.#minBytesPerSecond = minBytesPerSecond
    this.#patienceSeconds = patienceSeconds
    this.#running.use(httpUnsent.read(() => [[{}, this.#all.bytes]]))
    this.#running.adopt(setInterval(() => this.#closeStalled(), SWEEP_SECONDS * 1_000).unref(), clearInterval)
  }

  /** Answers that have not left. */
  get answers(): number {
    return this.#all.answers
  }

  /** Memory that these answers hold, in bytes. */
  get bytes(): number {
    return this.#all.bytes
  }

  /** Counts an answer from now until it has left, or until its connection is closed because its client reads too slowly. */
  trackAnswer(response: ServerResponse, leaving: LeavingAnswer): void {
    const { socket } = response.req
    if (socket.destroyed) {
      leaving.onLeft()
      return
    }
    const reader = this.#readers.get(socket) ?? this.#addReader(socket, leaving.client)
    reader.answers.set(response, leaving)
    this.#count(reader.client, leaving, 1)
    response.once('close', () => this.#answerLeft(reader, response))
    this.#enforceBounds(reader.client)
  }

  /**
   * Counts the bytes of a stream that wait for its client, until the stream's last byte has left. A stream may be idle for any
   * time, but bytes that wait must leave as those of an answer do.
   */
  trackStream(response: ServerResponse, client: string, source: Readable): void {
    const { socket } = response.req
    if (socket.destroyed) return
    const reader = this.#readers.get(socket) ?? this.#addReader(socket, client)
    reader.source = source
    response.once('close', () => {
      this.#countStream(reader, 0)
      reader.source = undefined
      this.#removeIfDone(reader)
    })
  }

  [Symbol.dispose](): void {
    this.#running[Symbol.dispose]()
  }

  #addReader(socket: Socket, key: string): Reader {
    const client = this.#clients.get(key) ?? { key, answers: 0, bytes: 0 }
    this.#clients.set(key, client)
    const reader: Reader = {
      socket,
      client,
      answers: new Map(),
      source: undefined,
      streamBytes: 0,
      onClose: () => this.#connectionClosed(reader),
      credit: this.#patienceSeconds,
      taken: takenBy(socket),
      atMs: performance.now(),
    }
    this.#readers.set(socket, reader)
    // An answer that is queued behind another gets no event of its own when the connection closes.
    socket.once('close', reader.onClose)
    return reader
  }

  #count(client: Holding, { bytes }: LeavingAnswer, sign: 1 | -1): void {
    for (const holding of [client, this.#all]) {
      holding.answers += sign
      holding.bytes += sign * (bytes + ANSWER_BYTES)
    }
  }

  #answerLeft(reader: Reader, response: ServerResponse): void {
    const leaving = reader.answers.get(response)
    if (leaving === undefined) return
    reader.answers.delete(response)
    this.#count(reader.client, leaving, -1)
    this.#removeIfDone(reader)
    leaving.onLeft()
  }

  #connectionClosed(reader: Reader): void {
    this.#countStream(reader, 0)
    reader.source = undefined
    for (const response of reader.answers.keys()) this.#answerLeft(reader, response)
    this.#removeIfDone(reader)
  }

  #removeIfDone({ socket, client, answers, source, onClose }: Reader): void {
    if (answers.size > 0 || source !== undefined) return
    this.#readers.delete(socket)
    socket.off('close', onClose)
    if (client.answers === 0 && client.bytes === 0) this.#clients.delete(client.key)
  }

  #countStream(reader: Reader, bytes: number): void {
    for (const holding of [reader.client, this.#all]) holding.bytes += bytes - reader.streamBytes
    reader.streamBytes = bytes
  }

  #enforceBounds(client: Holding): void {
    while (exceeds(client, this.#maxOfClient)) this.#closeSlowest(client)
    while (exceeds(this.#all, this.#max)) this.#closeSlowest()
  }

  /** Closes the reader with the least credit left. If several have the same credit, closes the one tracked for longest. */
  #closeSlowest(client?: Holding): void {
    const nowMs = performance.now()
    let slowest: Reader | undefined
    for (const reader of this.#readers.values()) {
      if (client !== undefined && reader.client !== client) continue
      this.#updateCredit(reader, nowMs)
      if (slowest === undefined || reader.credit < slowest.credit) slowest = reader
    }
    if (slowest !== undefined) this.#closeReader(slowest, 'unsent')
  }

  #closeStalled(): void {
    const nowMs = performance.now()
    for (const reader of this.#readers.values()) {
      this.#updateCredit(reader, nowMs)
      if (reader.credit <= 0) {
        this.#closeReader(reader, 'slow_reader')
        continue
      }
      if (reader.source === undefined) continue
      this.#countStream(reader, reader.socket.writableLength + reader.source.readableLength)
      this.#enforceBounds(reader.client)
    }
  }

  #updateCredit(reader: Reader, nowMs: number): void {
    const taken = takenBy(reader.socket)
    // If this process itself stalled, do not count that time against its clients.
    const seconds = Math.min((nowMs - reader.atMs) / 1_000, 2 * SWEEP_SECONDS)
    const earned = (taken - reader.taken) / this.#minBytesPerSecond
    if (reader.socket.writableLength === 0) reader.credit = this.#patienceSeconds
    else reader.credit = Math.min(reader.credit - seconds + earned, this.#patienceSeconds)
    reader.taken = taken
    reader.atMs = nowMs
  }

  /** Closes with a reset. After a normal close the kernel would keep the bytes buffered for a client that does not read. */
  #closeReader(reader: Reader, reason: 'unsent' | 'slow_reader'): void {
    httpClosed.add({ reason })
    this.#connectionClosed(reader)
    reader.socket.resetAndDestroy()
  }
}

function exceeds(holding: Bounds, max: Bounds): boolean {
  return holding.answers > max.answers || holding.bytes > max.bytes
}

/** How many of the bytes written to the connection the kernel has taken. */
function takenBy(socket: Socket): number {
  return socket.bytesWritten - socket.writableLength
}
