/** A process that offers more load than the system accepts. Its parent sends it commands, one at a time. */
import { type BenchAgentData, createBenchAgent, envelopeText, signedRequest } from './bench-agents.ts'
import { type OpenLoadResult, runOpenLoad } from './open-load.ts'

export interface OverloadOrder {
  port: number
  authority: string
  agents: BenchAgentData[]
  perSecond: number
  seconds: number
  connections: number
}

process.on('message', (order: OverloadOrder) => {
  void carryOut(order).then((result) => process.send?.(result))
})

/** Each agent writes to the next one. */
async function carryOut({ agents: data, authority, seconds, ...order }: OverloadOrder): Promise<OpenLoadResult> {
  const agents = data.map(({ name, secretKeyHex }) => createBenchAgent(name, secretKeyHex))
  const requests = Array.from({ length: Math.ceil(order.perSecond * seconds) }, (_, index) => {
    const from = agents[index % agents.length]
    const to = agents[(index + 1) % agents.length]
    if (from === undefined || to === undefined) throw new RangeError('no agents')
    return signedRequest(from, {
      authority,
      method: 'POST',
      target: '/v2/messages',
      body: envelopeText(from, `${to.name}@${authority}`),
    })
  })
  process.send?.('prepared')
  return runOpenLoad({ ...order, requests })
}
