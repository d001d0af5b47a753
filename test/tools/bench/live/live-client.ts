/**
 * A process that holds event streams and sends at a given rate. One process does both, so that one clock measures both ends
 * of a delivery. Its parent sends it commands, one at a time.
 */
import { connect, type Socket } from 'node:net'
import {
  type BenchAgent,
  type BenchAgentData,
  createBenchAgent,
  envelopeText,
  signedRequest,
} from '../load/bench-agents.ts'
import { percentile } from '../load/http-load.ts'

export type LiveOrder =
  | { kind: 'open'; port: number; authority: string; agents: BenchAgentData[] }
  | { kind: 'close' }
  | { kind: 'send'; port: number; authority: string; agents: BenchAgentData[]; perSecond: number; seconds: number }

export type LiveReport =
  | { kind: 'opened'; streams: number }
  | { kind: 'closed' }
  | {
      kind: 'sent'
      accepted: number
      delivered: number
      p50Ms: number
      p99Ms: number
      /** Epoch milliseconds, by message id. */
      answered: [string, number][]
    }

const SENDING_CONNECTIONS = 32
const TICK_MS = 2
/** The wait for the last accepted messages. A message that has not arrived by then counts as not delivered. */
const SETTLE_MS = 2_000

/** When each message of this round was accepted, and when it was delivered, by id. */
const answeredAt = new Map<string, number>()
const pushedAt = new Map<string, number>()
const streams = new Set<Socket>()
/** True while this process sends. At other times it does not search events for ids, so that it leaves the CPU to the system. */
let isWatching = false

process.on('message', (order: LiveOrder) => {
  void carryOut(order).then((report) => process.send?.(report))
})

async function carryOut(order: LiveOrder): Promise<LiveReport> {
  if (order.kind === 'close') {
    for (const socket of streams) socket.destroy()
    streams.clear()
    return { kind: 'closed' }
  }
  const agents = order.agents.map(({ name, secretKeyHex }) => createBenchAgent(name, secretKeyHex))
  if (order.kind === 'open') {
    await Promise.all(agents.map((agent) => openStream(agent, order)))
    return { kind: 'opened', streams: agents.length }
  }
  answeredAt.clear()
  pushedAt.clear()
  isWatching = true
  await sendAtRate(agents, order)
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
  isWatching = false
  const latencies = [...answeredAt].flatMap(([id, at]) => {
    const pushed = pushedAt.get(id)
    return pushed === undefined ? [] : [Math.max(0, pushed - at)]
  })
  latencies.sort((a, b) => a - b)
  return {
    kind: 'sent',
    accepted: answeredAt.size,
    delivered: latencies.length,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
    answered: [...answeredAt].map(([id, at]) => [id, performance.timeOrigin + at]),
  }
}

/** Settles with the stream's first bytes. Finds ids by searching the bytes, without parsing them. */
function openStream(agent: BenchAgent, { port, authority }: { port: number; authority: string }): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    let left = ''
    let isOpen = false
    streams.add(socket)
    socket.setEncoding('latin1')
    socket.once('connect', () => socket.write(signedRequest(agent, { authority, method: 'GET', target: '/v2/stream' })))
    socket.once('error', reject)
    socket.on('data', (chunk: string) => {
      if (!isOpen && !chunk.includes(' 200 ')) reject(new Error(`no stream: ${chunk.slice(0, 200)}`))
      isOpen = true
      resolve()
      if (!isWatching) return
      const now = performance.now()
      const text = left + chunk
      for (const match of text.matchAll(ID)) pushedAt.set(match[1] ?? '', pushedAt.get(match[1] ?? '') ?? now)
      // An id may be split between two chunks.
      left = text.slice(-64)
    })
  })
}

const ID = /"id":"([\w-]{22})"/g

/** Sends each message when it is due, on any free connection. If no connection is free, the message is sent later, not dropped. */
async function sendAtRate(
  agents: BenchAgent[],
  { port, authority, perSecond, seconds }: Extract<LiveOrder, { kind: 'send' }>,
): Promise<void> {
  const total = Math.floor(perSecond * seconds)
  const requests = Array.from({ length: total }, (_, index) => {
    const from = agents[index % agents.length]
    const to = agents[(index + 1) % agents.length]
    if (from === undefined || to === undefined) throw new RangeError('no agents')
    const text = envelopeText(from, `${to.name}@${authority}`)
    return {
      id: (JSON.parse(text) as { id: string }).id,
      bytes: signedRequest(from, { authority, method: 'POST', target: '/v2/messages', body: text }),
    }
  })
  const free: Socket[] = []
  const waiting = new Map<Socket, string>()
  let open = 0
  let answered = 0
  let due = 0
  let next = 0
  await new Promise<void>((resolve, reject) => {
    const sendDue = (): void => {
      while (next < due && free.length > 0) {
        const request = requests[next]
        const socket = free.pop()
        if (request === undefined || socket === undefined) return
        next += 1
        waiting.set(socket, request.id)
        socket.write(request.bytes)
      }
    }
    for (let at = 0; at < SENDING_CONNECTIONS; at += 1) {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true })
      socket.setEncoding('latin1')
      socket.once('error', reject)
      socket.once('connect', () => {
        open += 1
        free.push(socket)
      })
      // An answer to a message is one chunk.
      socket.on('data', (chunk: string) => {
        if (chunk.startsWith('HTTP/1.1 202')) answeredAt.set(waiting.get(socket) ?? '', performance.now())
        answered += 1
        free.push(socket)
        sendDue()
        if (answered < total) return
        clearInterval(timer)
        for (const each of free) each.end()
        resolve()
      })
    }
    let begin = 0
    const timer = setInterval(() => {
      if (open < SENDING_CONNECTIONS) return
      if (begin === 0) begin = performance.now()
      due = Math.min(total, Math.floor(((performance.now() - begin) / 1_000) * perSecond))
      sendDue()
    }, TICK_MS)
  })
}
