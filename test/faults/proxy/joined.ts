import type { Socket } from 'node:net'

/** Which bytes: those of whoever connects, those of what it connects to, or both. */
export type Direction = 'to-server' | 'to-client' | 'both'

/** What can be done to one connection. */
export interface LinkConnection {
  /**
   * Nothing of this direction arrives any more, and nothing is closed: both ends go on believing in the connection, which is
   * then half open. TCP loses nothing of it: what was held arrives, in order, when it is healed.
   */
  hold(direction?: Direction): void
  /** Everything arrives so much later, in order. */
  delay(ms: number, direction?: Direction): void
  /** Ends holding and delays. */
  heal(): void
  /** Ends it at once for both ends, as a machine does that has lost its state (RST). */
  reset(): void
}

type Piece = { readonly kind: 'bytes'; readonly bytes: Buffer } | { readonly kind: 'end' } | { readonly kind: 'reset' }

/** Tells each of two sockets what the other says. */
export function joinSockets(client: Socket, server: Socket, onClosed: () => void): LinkConnection {
  const ways = { 'to-server': new Way(client, server), 'to-client': new Way(server, client) }
  const waysOf = (direction: Direction): Way[] =>
    direction === 'both' ? [ways['to-server'], ways['to-client']] : [ways[direction]]
  let open = 2
  for (const socket of [client, server]) {
    socket.once('close', () => {
      open -= 1
      if (open === 0) onClosed()
    })
  }
  return {
    hold(direction = 'both') {
      for (const way of waysOf(direction)) way.hold()
    },
    delay(ms, direction = 'both') {
      for (const way of waysOf(direction)) way.delayMs = ms
    },
    heal() {
      for (const way of waysOf('both')) way.heal()
    },
    reset() {
      for (const socket of [client, server]) if (!socket.destroyed) socket.resetAndDestroy()
    },
  }
}

/** One direction: what a socket said, and its end, on its way to the other. */
class Way {
  readonly #source: Socket
  readonly #sink: Socket
  readonly #pieces: { piece: Piece; dueMs: number }[] = []
  #isHeld = false
  #ended = false
  #timer: NodeJS.Timeout | undefined
  delayMs = 0

  constructor(source: Socket, sink: Socket) {
    this.#source = source
    this.#sink = sink
    source.on('data', (bytes) => this.#push({ kind: 'bytes', bytes: bytes as Buffer }))
    source.on('end', () => {
      this.#ended = true
      this.#push({ kind: 'end' })
    })
    source.on('error', () => {}) // `close` follows
    // Behind an end of its own, a socket closes when both have said all.
    source.on('close', () => !this.#ended && this.#push({ kind: 'reset' }))
    sink.on('drain', () => !this.#isHeld && source.resume())
  }

  hold(): void {
    this.#isHeld = true
    // What it says from now on waits in the buffers of the kernel, and so in the end does whoever says it.
    this.#source.pause()
  }

  heal(): void {
    this.#isHeld = false
    this.delayMs = 0
    for (const each of this.#pieces) each.dueMs = 0
    this.#source.resume()
    this.#forward()
  }

  #push(piece: Piece): void {
    this.#pieces.push({ piece, dueMs: this.delayMs === 0 ? 0 : performance.now() + this.delayMs })
    this.#forward()
  }

  #forward(): void {
    clearTimeout(this.#timer)
    while (!this.#isHeld) {
      const next = this.#pieces[0]
      if (next === undefined) return
      const leftMs = next.dueMs - performance.now()
      if (leftMs > 0) {
        this.#timer = setTimeout(() => this.#forward(), leftMs)
        return
      }
      this.#pieces.shift()
      this.#deliver(next.piece)
    }
  }

  #deliver(piece: Piece): void {
    if (this.#sink.destroyed) return
    if (piece.kind === 'reset') this.#sink.resetAndDestroy()
    else if (piece.kind === 'end') this.#sink.end()
    else if (!this.#sink.write(piece.bytes)) this.#source.pause()
  }
}
