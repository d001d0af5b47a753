import type { Socket } from 'node:net'

/** The direction of bytes: from the client to the server, from the server to the client, or both. */
export type Direction = 'to-server' | 'to-client' | 'both'

/** Faults of one connection. */
export interface LinkConnection {
  /**
   * Stops the bytes of this direction without closing the connection, which is then half open. As with TCP, nothing is
   * lost: the held bytes arrive in order after `heal`.
   */
  hold(direction?: Direction): void
  /** Delays all bytes by this time, and keeps their order. */
  delay(ms: number, direction?: Direction): void
  /** Ends `hold` and `delay`. */
  heal(): void
  /** Resets the connection at both ends (RST), like a machine that has lost its state. */
  reset(): void
}

type Piece = { readonly kind: 'bytes'; readonly bytes: Buffer } | { readonly kind: 'end' } | { readonly kind: 'reset' }

/** Forwards bytes between two sockets. */
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

/** One direction: forwards the bytes of a socket, and its end, to the other socket. */
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
    // a socket that has sent its own end closes when both sides have sent everything
    source.on('close', () => !this.#ended && this.#push({ kind: 'reset' }))
    sink.on('drain', () => !this.#isHeld && source.resume())
  }

  hold(): void {
    this.#isHeld = true
    // Further bytes stay in the kernel's buffers, so the sender eventually has to wait too (backpressure).
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
