/** A process that only sends, so that its CPU time is separate. Its parent sends it commands, one at a time. */
import {
  type BenchAgent,
  type BenchAgentData,
  boardText,
  createBenchAgent,
  envelopeText,
  signedRequest,
} from './bench-agents.ts'
import { type LoadResult, percentile, requestBytes, runLoad } from './http-load.ts'

/** The kind of requests in a round. */
export type Work =
  /**
   * Each agent writes to the next one, so that every pair is known after the warm-up. With `at`, every message is to or
   * from the first agent.
   */
  | { kind: 'messages'; ttlSeconds?: number; at?: 'one sender' | 'one recipient' }
  /** Agents create boards in turn. */
  | { kind: 'boards' }
  /** The first agent posts to a board. */
  | { kind: 'posts'; board: string }
  /** The first agent, or an unsigned client, reads these pages in turn. */
  | { kind: 'pages'; targets: string[]; signed: boolean }

export interface Order {
  work: Work
  port: number
  /** As in `LoadOptions`. */
  gateways?: number
  connections: number
  /** The most requests to prepare. Fewer are sent if the time runs out. */
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

const EXPECTED: Record<Work['kind'], number> = { messages: 202, posts: 202, boards: 201, pages: 200 }

async function carryOut(order: Order): Promise<Report> {
  const agents = order.agents.map(({ name, secretKeyHex }) => createBenchAgent(name, secretKeyHex))
  const requests = Array.from({ length: order.count }, (_, index) => prepare(agents, order, index))
  process.send?.('prepared')
  const result: LoadResult = await runLoad({ ...order, requests, expected: EXPECTED[order.work.kind] })
  const { accepted, refused, elapsedMs, latenciesMs } = result
  return { accepted, refused, elapsedMs, p50Ms: percentile(latenciesMs, 0.5), p99Ms: percentile(latenciesMs, 0.99) }
}

function prepare(agents: BenchAgent[], { work, authority }: Order, index: number): Buffer {
  const [first] = agents
  const from = agents[index % agents.length]
  if (first === undefined || from === undefined) throw new RangeError('no agents')
  switch (work.kind) {
    case 'messages': {
      const [sender, recipient] = pairOf(agents, work.at, index)
      const envelope = envelopeText(sender, `${recipient.name}@${authority}`, work.ttlSeconds)
      return signedRequest(sender, { authority, method: 'POST', target: '/v2/messages', body: envelope })
    }
    case 'posts':
      return signedRequest(first, {
        authority,
        method: 'POST',
        target: '/v2/messages',
        body: envelopeText(first, `board:${work.board}`),
      })
    case 'boards':
      return signedRequest(from, { authority, method: 'POST', target: '/v2/boards', body: boardText() })
    case 'pages': {
      const target = work.targets[index % work.targets.length] ?? '/'
      return work.signed
        ? signedRequest(first, { authority, method: 'GET', target })
        : requestBytes({ authority, method: 'GET', target })
    }
  }
}

function pairOf(
  agents: BenchAgent[],
  at: 'one sender' | 'one recipient' | undefined,
  index: number,
): [sender: BenchAgent, recipient: BenchAgent] {
  const [first, ...others] = agents
  const other = others[index % others.length]
  if (first === undefined || other === undefined) throw new RangeError('at least two agents are needed')
  if (at === 'one sender') return [first, other]
  if (at === 'one recipient') return [other, first]
  const at0 = index % agents.length
  return [agents[at0] ?? first, agents[(at0 + 1) % agents.length] ?? first]
}
