import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Random } from '../../faults/workload/random.ts'

/** A proxy that ends each connection after some bytes of its answers, wherever that is: in a header, a line or a character. */
interface CuttingProxy extends AsyncDisposable {
  readonly url: string
  /** The number of connections that were cut. */
  readonly cuts: number
}

interface CuttingProxyOptions {
  readonly target: string
  readonly random: Random
  /** Bytes after which a connection is cut: at least and at most. */
  readonly bytes: readonly [from: number, to: number]
  /**
   * Whether every other cut falls between the two line feeds that end an event, after its id. Without it, no cut does: a
   * client that takes an id before its event is complete then loses the event, whatever the order of the fields.
   */
  readonly atTheEnd: boolean
}

const RETRY = 'retry: 1000'
/** As long as `RETRY`, so that the lengths in a chunked answer stay right. */
const SOONER = 'retry: 0020'

/** Lets clients reconnect after 20 ms, because a test has no time for a second after each cut. */
export async function startCuttingProxy({
  target,
  random,
  bytes,
  atTheEnd,
}: CuttingProxyOptions): Promise<CuttingProxy> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  let cuts = 0
  const server = createServer((client) => {
    // Even an unlucky first connection brings `retry`.
    let left = cuts === 0 ? bytes[1] : random.int(...bytes)
    const isReset = random.chance(0.5)
    const upstream = connect(Number(port), hostname)
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => other.destroy())
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
    }
    client.on('data', (chunk) => upstream.write(chunk))
    upstream.on('data', (chunk: Buffer) => {
      const text = chunk.toString('latin1').replace(RETRY, SOONER)
      if (left > text.length) {
        client.write(text, 'latin1')
        left -= text.length
        return
      }
      cuts += 1
      upstream.destroy()
      const kept = text.slice(0, place(text, left, atTheEnd && cuts % 2 === 0))
      client.write(kept, 'latin1', () => (isReset ? client.resetAndDestroy() : client.destroy()))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get cuts() {
      return cuts
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      const closed = once(server, 'close')
      server.close()
      await closed
    },
  }
}

/** @returns where to cut: at `left`, or at the next end of an event, or not there. */
function place(text: string, left: number, isAtTheEnd: boolean): number {
  const end = text.indexOf('\n\n', Math.max(left - 1, 0)) + 1
  if (end === 0) return left
  if (isAtTheEnd) return end
  return end === left ? left + 1 : left
}
