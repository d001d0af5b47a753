/** The cost of a post to a full board, compared with a direct message, in CPU time of all processes together. */

import { startBenchSystem, startGenerator } from './bench-system.ts'
import { createBoard, registerMany, subscribe } from './load/bench-agents.ts'
import type { Work } from './load/generator.ts'
import { median } from './load/http-load.ts'
import { canMeasureCpu } from './process-cpu.ts'
import { cpuPerRequest, loaderOf, printRefused, type Round, rateOf } from './rounds.ts'

/** A board has at most 100 membership records (spec 8.7). Its owner has none. */
const SUBSCRIBERS = 100

interface PostsOptions {
  connections: number
  rounds: number
  secondsPerRound: number
}

export async function benchPosts({ connections, rounds, secondsPerRound }: PostsOptions): Promise<void> {
  await using system = await startBenchSystem()
  using generator = disposable(startGenerator())
  const url = `http://${system.authority}`
  const agents = await registerMany(SUBSCRIBERS + 1, system.authority)
  const [owner, ...subscribers] = agents
  if (owner === undefined) throw new RangeError('no agents')
  const board = await createBoard(owner, url, system.authority)
  for (const agent of subscribers) await subscribe(agent, board, url, system.authority)

  const load = loaderOf(generator.child, system, agents)
  const run = (work: Work, perSecond: number, seconds = secondsPerRound): Promise<Round> =>
    load(work, { connections, count: perSecond * seconds, seconds })
  const contenders = [
    { name: 'direct message', work: { kind: 'messages' } as const, perSecond: 12_000, rounds: [] as Round[] },
    {
      name: `post to ${SUBSCRIBERS} subscribers`,
      work: { kind: 'posts', board } as const,
      perSecond: 3_000,
      rounds: [] as Round[],
    },
  ]
  for (const each of contenders) await run(each.work, each.perSecond, 2)
  for (let round = 0; round < rounds; round += 1) {
    for (const each of contenders) each.rounds.push(await run(each.work, each.perSecond))
  }

  console.log(`${connections} connections, medians of ${rounds} rounds of ${secondsPerRound} s\n`)
  console.log('| | accepted/s | p50 ms | CPU ms each | of a direct message |')
  console.log('|---|---|---|---|---|')
  const costs = contenders.map(({ rounds: measured }) =>
    Object.entries(cpuPerRequest(measured)).reduce((sum, [name, ms]) => sum + (name === 'generator' ? 0 : ms), 0),
  )
  contenders.forEach((each, index) => {
    const cost = costs[index] ?? Number.NaN
    const cells = [
      each.name,
      rateOf(each.rounds).toFixed(0),
      median(each.rounds.map(({ p50Ms }) => p50Ms)).toFixed(1),
      canMeasureCpu ? cost.toFixed(3) : '?',
      canMeasureCpu ? (cost / (costs[0] ?? Number.NaN)).toFixed(1) : '?',
    ]
    console.log(`| ${cells.join(' | ')} |`)
  })
  for (const each of contenders) printRefused(each.name, each.rounds)
}

function disposable(child: ReturnType<typeof startGenerator>) {
  return { child, [Symbol.dispose]: () => void child.kill() }
}
