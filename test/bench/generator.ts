/** A process that only sends, so that its own cost is told apart: takes its orders from the parent, one at a time. */
import { type BenchAgent, type BenchAgentData, createBenchAgent, envelopeText, signedRequest } from './bench-agents.ts'
import { type LoadResult, percentile, runLoad } from './http-load.ts'

export interface Order {
  port: number
  connections: number
  /** Requests to prepare at most; fewer are sent when the time is over first. */
  count: number
  /** Sends the same ones again and again: for a server that does not look at them. */
  cycle: boolean
  limitMs: number
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
  const requests = prepare(agents, order)
  process.send?.('prepared')
  const result: LoadResult = await runLoad({ ...order, requests, expected: 202 })
  const { accepted, refused, elapsedMs, latenciesMs } = result
  return { accepted, refused, elapsedMs, p50Ms: percentile(latenciesMs, 0.5), p99Ms: percentile(latenciesMs, 0.99) }
}

/** Each agent writes to the next one, so that every pair is known after the warm-up. */
function prepare(agents: BenchAgent[], { count, authority }: Order): Buffer[] {
  return Array.from({ length: count }, (_, index) => {
    const from = agents[index % agents.length]
    const to = agents[(index + 1) % agents.length]
    if (from === undefined || to === undefined) throw new RangeError('no agents')
    return signedRequest(from, authority, 'POST', '/v2/messages', envelopeText(from, `${to.name}@${authority}`))
  })
}
