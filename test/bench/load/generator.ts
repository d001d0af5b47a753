/** A process that only sends, so that its CPU time is separate. Its parent sends it commands, one at a time. */
import { type BenchAgent, type BenchAgentData, createBenchAgent, envelopeText, signedRequest } from './bench-agents.ts'
import { type LoadResult, percentile, requestBytes, runLoad } from './http-load.ts'

/** The kind of requests in a round. */
export type Work =
  /** Each agent writes to the next one, so that every pair is known after the warm-up. */
  | { kind: 'messages'; ttlSeconds?: number }
  /** The first agent posts to a board. */
  | { kind: 'posts'; board: string }
  /** The first agent, or an unsigned client, reads these pages in turn. */
  | { kind: 'pages'; targets: string[]; signed: boolean }

export interface Order {
  work: Work
  port: number
  connections: number
  /** The most requests to prepare. Fewer are sent if the time ends first. */
  count: number
  /** Repeats the same requests, for a server that does not check them. */
  cycle: boolean
  limitMs: number
  /** The pause between an answer and the next request. */
  restMs?: number
  authority: string
  agents: BenchAgentData[]
}

export interface Report {
  accepted: number
  refused: Record<string, number>
  elapsedMs: number
  p50Ms: number
  p99Ms: number
}

process.on('message', (order: Order) => {
  void carryOut(order).then((report) => process.send?.(report))
})

async function carryOut(order: Order): Promise<Report> {
  const agents = order.agents.map(({ name, secretKeyHex }) => createBenchAgent(name, secretKeyHex))
  const requests = Array.from({ length: order.count }, (_, index) => prepare(agents, order, index))
  process.send?.('prepared')
  const result: LoadResult = await runLoad({ ...order, requests, expected: order.work.kind === 'pages' ? 200 : 202 })
  const { accepted, refused, elapsedMs, latenciesMs } = result
  return { accepted, refused, elapsedMs, p50Ms: percentile(latenciesMs, 0.5), p99Ms: percentile(latenciesMs, 0.99) }
}

function prepare(agents: BenchAgent[], { work, authority }: Order, index: number): Buffer {
  const [first] = agents
  const from = agents[index % agents.length]
  const to = agents[(index + 1) % agents.length]
  if (first === undefined || from === undefined || to === undefined) throw new RangeError('no agents')
  switch (work.kind) {
    case 'messages':
      return signedRequest(
        from,
        authority,
        'POST',
        '/v2/messages',
        envelopeText(from, `${to.name}@${authority}`, work.ttlSeconds),
      )
    case 'posts':
      return signedRequest(first, authority, 'POST', '/v2/messages', envelopeText(first, `board:${work.board}`))
    case 'pages': {
      const target = work.targets[index % work.targets.length] ?? '/'
      return work.signed ? signedRequest(first, authority, 'GET', target) : requestBytes('GET', target, authority, {})
    }
  }
}
