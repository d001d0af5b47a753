/** An attacker process. Its parent sends it commands, one at a time. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type BenchAgentData, createBenchAgent } from '../load/bench-agents.ts'
import { type OpenLoadResult, runOpenLoad } from '../load/open-load.ts'
import { createFlood, type Flood } from './hostile-attacks.ts'

export interface FloodOrder {
  readonly kind: 'flood'
  readonly flood: Flood
  readonly perSecond: number
  readonly connections: number
}

export interface CrowdOrder {
  /** Connections that send their headers byte by byte, or that request a large document and never read it. */
  readonly kind: 'unread' | 'slow headers'
  readonly connections: number
}

export type AttackOrder = (FloodOrder | CrowdOrder) & {
  readonly port: number
  readonly authority: string
  readonly attacker: BenchAgentData
  readonly held: string
  readonly seconds: number
}

/** A flood reports answers by status. A crowd reports the connections that the gateway left open. */
export interface AttackReport {
  readonly answers: Readonly<Record<string, number>>
  readonly elapsedMs: number
}

const DOCUMENT = '/docs/swagger-ui-bundle.js'
/** Source addresses of a crowd, so that the limit for one address does not stop it at once. */
const ADDRESSES = 8
const BYTE_MS = 500

process.on('message', (order: AttackOrder) => {
  void carryOut(order).then((report) => process.send?.(report))
})

async function carryOut(order: AttackOrder): Promise<AttackReport> {
  if (order.kind !== 'flood') return crowd(order)
  const { port, authority, held, perSecond, connections, seconds } = order
  const { name, secretKeyHex } = order.attacker
  const target = { url: `http://${authority}`, authority, attacker: createBenchAgent(name, secretKeyHex), held }
  const make = await createFlood(order.flood, target)
  const requests = Array.from({ length: Math.ceil(perSecond * seconds) }, (_, index) => make(index))
  process.send?.('prepared')
  return reportOf(await runOpenLoad({ port, requests, perSecond, connections }))
}

function reportOf({ answers, elapsedMs, unsent, broken }: OpenLoadResult): AttackReport {
  const counts = Object.fromEntries(Object.entries(answers).map(([status, { count }]) => [status, count]))
  return { answers: { ...counts, ...some({ unsent, broken }) }, elapsedMs }
}

function some(counts: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))
}

async function crowd({ kind, port, authority, connections, seconds }: CrowdOrder & AttackOrder): Promise<AttackReport> {
  process.send?.('prepared')
  const beganMs = performance.now()
  const sockets = new Set<Socket>()
  let refused = 0
  for (let index = 0; index < connections; index += 1) {
    const socket = connect({ port, host: '127.0.0.1', localAddress: `127.0.2.${1 + (index % ADDRESSES)}` })
    socket.on('error', () => {})
    socket.on('close', () => {
      sockets.delete(socket)
      refused += 1
    })
    sockets.add(socket)
    if (index % ADDRESSES === 0) await Promise.race([once(socket, 'connect'), once(socket, 'close')])
    if (kind === 'unread') socket.pause().write(`GET ${DOCUMENT} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`.repeat(4))
    else socket.write(`GET ${DOCUMENT} HTTP/1.1\r\nX-Slow: `)
  }
  const drip = setInterval(() => {
    if (kind === 'slow headers') for (const socket of sockets) socket.write('x')
  }, BYTE_MS)
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, seconds * 1_000 - (performance.now() - beganMs))))
  clearInterval(drip)
  const report = { answers: { 'still open': sockets.size, closed: refused }, elapsedMs: performance.now() - beganMs }
  for (const socket of sockets) socket.destroy()
  return report
}
