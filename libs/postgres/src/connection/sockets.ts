import { connect, type Socket } from 'node:net'

/**
 * The sockets of a pool, so that half-open connections can be closed. The driver never gives up a silent connection by itself,
 * and the kernel does so only after a quarter of an hour. If a machine vanishes, or a router loses its state, every query on
 * its connection would time out for that long.
 */
interface Sockets extends Disposable {
  /**
   * Makes the sockets for the driver, because its own would be out of reach. The socket is still connecting.
   * @param at the driver's counter, which selects the host. It begins with the value that gave the last connection (patches/postgres).
   */
  readonly connect: (options: DriverOptions, at: number) => Socket
  /**
   * Closes the sockets that were silent for this long. It may also close a socket that was silent for up to
   * `HEARD_WITHIN_MS` less, or twice that if this process was busy. The driver sends its next queries on new sockets,
   * which try the next host first. Otherwise each new socket would first wait for a machine that may be gone.
   */
  endSilent(forMs: number): void
}

/** The options that the driver passes. */
interface DriverOptions {
  readonly host: readonly string[]
  readonly port: readonly number[]
}

/**
 * The sampling interval, and so the precision of the time when a socket was last heard. A sample notes the time of the sample
 * before it, so a late sample does not make a socket seem more recently heard.
 */
const HEARD_WITHIN_MS = 250

export function createSockets(): Sockets {
  const heard = new Map<Socket, { bytes: number; afterMs: number; shift: number }>()
  /** Added to the driver's host index, so that the next connections try another host first. */
  let shift = 0
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
    connect({ host, port }, at) {
      const index = (at + shift) % host.length
      const hostname = host[index] ?? 'localhost'
      const socket = connect({ host: hostname, port: port[index] ?? 0 })
      heard.set(socket, { bytes: 0, afterMs: performance.now(), shift })
      // The driver takes the name for TLS from here.
      return Object.assign(socket, { host: hostname })
    },
    endSilent(forMs) {
      const nowMs = performance.now()
      for (const [socket, last] of heard) {
        if (socket.bytesRead !== last.bytes || nowMs - last.afterMs < forMs) continue
        // Shift only once for all sockets that were silent at the same time.
        if (last.shift === shift) shift += 1
        socket.destroy()
      }
    },
    [Symbol.dispose]: () => clearInterval(sample),
  }
}
