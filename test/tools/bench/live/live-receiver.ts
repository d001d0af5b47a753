/**
 * An HTTPS endpoint that answers 204 at once, except on `/hangs`, which it never answers. Prints its port, and reports to
 * its parent when each delivery came. Environment: RECEIVER_CERT, RECEIVER_KEY (files).
 */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'

export type ReceiverOrder = { kind: 'forget' } | { kind: 'await'; count: number; limitMs: number } | { kind: 'report' }

export type ReceiverReport =
  | { kind: 'forgotten' }
  /** Epoch milliseconds of the first and the last delivery. `count` is lower than requested if the time ran out. */
  | { kind: 'awaited'; count: number; firstMs: number; lastMs: number }
  /** Epoch milliseconds of the first delivery, by message id. */
  | { kind: 'arrivals'; arrivals: [string, number][] }

const arrivals = new Map<string, number>()
let onArrival: (() => void) | undefined

const server = createServer(
  { cert: readFileSync(process.env.RECEIVER_CERT ?? ''), key: readFileSync(process.env.RECEIVER_KEY ?? '') },
  (request, response) => {
    const arrivedMs = performance.timeOrigin + performance.now()
    request.resume()
    request.on('error', () => {})
    request.on('end', () => {
      if (request.url === '/hangs') return
      const id = String(request.headers['x-svc-message-id'])
      if (!arrivals.has(id)) arrivals.set(id, arrivedMs)
      response.writeHead(204).end()
      onArrival?.()
    })
  },
)
server.on('tlsClientError', () => {})
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))

process.on('message', (order: ReceiverOrder) => {
  void carryOut(order).then((report) => process.send?.(report))
})

async function carryOut(order: ReceiverOrder): Promise<ReceiverReport> {
  switch (order.kind) {
    case 'forget':
      arrivals.clear()
      return { kind: 'forgotten' }
    case 'report':
      return { kind: 'arrivals', arrivals: [...arrivals] }
    case 'await': {
      const limit = setTimeout(() => onArrival?.(), order.limitMs)
      const untilMs = performance.now() + order.limitMs
      await new Promise<void>((resolve) => {
        onArrival = () => {
          if (arrivals.size >= order.count || performance.now() >= untilMs) resolve()
        }
        onArrival()
      })
      clearTimeout(limit)
      onArrival = undefined
      const times = [...arrivals.values()]
      return { kind: 'awaited', count: times.length, firstMs: Math.min(...times), lastMs: Math.max(...times) }
    }
  }
}
