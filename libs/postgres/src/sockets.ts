import { connect, type Socket } from 'node:net'

/**
 * The sockets of a pool. The driver gives up no connection by itself of which nothing is heard any more, and the kernel takes
 * a quarter of an hour for it: a machine that is gone without a word, or a router that has lost its state, would cost every
 * query that is given to such a connection its whole deadline for so long.
 */
export interface Sockets extends Disposable {
  /** For the driver, whose own would be out of reach: one that is being connected. */
  readonly connect: (options: DriverOptions) => Socket
  /**
   * Ends those of which nothing was heard for so long, and some of which it was up to `HEARD_WITHIN_MS` less, twice that where
   * this process was busy. What the driver asks next is asked on new ones.
   */
  endSilent(forMs: number): void
}

/** What of its options the driver hands over. */
interface DriverOptions {
  readonly host: readonly string[]
  readonly port: readonly number[]
  /** Of a Unix socket. */
  readonly path?: string | false | null
}

/** When each was heard of last is known so exactly, by the last look before it: a late look makes it no later than it was. */
const HEARD_WITHIN_MS = 250

export function createSockets(): Sockets {
  const heard = new Map<Socket, { bytes: number; afterMs: number }>()
  let turn = 0
  let lookedMs = performance.now()
  const sample = setInterval(() => {
    const nowMs = performance.now()
    const afterMs = Math.max(lookedMs, nowMs - 2 * HEARD_WITHIN_MS)
    lookedMs = nowMs
    for (const [socket, last] of heard) {
      if (socket.destroyed) heard.delete(socket)
      if (socket.bytesRead === last.bytes) continue
      last.bytes = socket.bytesRead
      last.afterMs = afterMs
    }
  }, HEARD_WITHIN_MS)
  sample.unref()

  return {
    connect({ host, port, path }) {
      const at = turn % host.length
      turn += 1
      const hostname = host[at] ?? 'localhost'
      const socket = path ? connect(path) : connect({ host: hostname, port: port[at] ?? 5432 })
      heard.set(socket, { bytes: 0, afterMs: performance.now() })
      // For TLS the driver takes the name from here.
      return Object.assign(socket, { host: hostname })
    },
    endSilent(forMs) {
      const nowMs = performance.now()
      for (const [socket, { bytes, afterMs }] of heard)
        if (socket.bytesRead === bytes && nowMs - afterMs >= forMs) socket.destroy()
    },
    [Symbol.dispose]: () => clearInterval(sample),
  }
}
