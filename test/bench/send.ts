/**
 * Direct messages, durable at 202, beside the floors. Rounds alternate in one run, and the results are medians and their
 * ratios, because machines are shared.
 */

import { startBenchSystem, startFloor, startGenerator, stop } from './bench-system.ts'
import { createBenchAgent, dataOf, registerAgent } from './load/bench-agents.ts'
import { median } from './load/http-load.ts'
import { canMeasureCpu, cpuMs } from './process-cpu.ts'
import { cpuPerRequest, printRefused, type Round, rateOf, runRound } from './rounds.ts'

interface SendOptions {
  connections: number
  rounds: number
  secondsPerRound: number
  agents: number
}

interface Contender {
  name: string
  port: number
  /** Requests to prepare for one second. A server that does not check them gets the same thousand again and again. */
  perSecond: number
  cycle: boolean
  cpu: () => Record<string, number>
  rounds: Round[]
  /** One connection, which sends each request after the answer to the previous one. */
  single: Round[]
  /** One connection, with a pause before each request. */
  idle: Round[]
}

/**
 * By then the work after an answer is done, even on a slow machine: publishing, and settling, which begins 25 ms after the
 * answer.
 */
const REST_MS = 60
const IDLE_SECONDS = 4
/** The warm-up: code is compiled, plans are cached and every pair of agents is introduced. */
const WARM_UP_SECONDS = 12

export async function benchSend(options: SendOptions): Promise<void> {
  await using system = await startBenchSystem()
  await using floors = new AsyncDisposableStack()
  const agents = Array.from({ length: options.agents }, (_, index) => createBenchAgent(`bench-${index}`))
  for (const agent of agents) await registerAgent(agent, `http://${system.authority}`, system.authority)

  const fixed = await startFloor('fixed')
  floors.defer(() => stop(fixed.child))
  const one = await startFloor('one-process', {
    FLOOR_DATABASE_URL: system.adminUrl,
    FLOOR_AUTHORITY: system.authority,
    FLOOR_KEYS: JSON.stringify(
      Object.fromEntries(agents.map((agent) => [agent.agentId, Buffer.from(agent.publicKey).toString('hex')])),
    ),
  })
  floors.defer(() => stop(one.child))
  const generator = startGenerator()
  floors.defer(() => {
    generator.kill()
  })

  const contenders: Contender[] = [
    contender('Fastify, fixed 202', fixed.port, { perSecond: 1_000, cycle: true }, () => ({
      floor: cpuMs(fixed.child.pid ?? 0),
    })),
    contender('one process', one.port, { perSecond: 16_000, cycle: false }, () => ({
      floor: cpuMs(one.child.pid ?? 0),
      postgres: system.cpu().postgres ?? 0,
    })),
    contender('the system', system.port, { perSecond: 12_000, cycle: false }, () => system.cpu()),
  ]
  const measure = (of: Contender, connections: number, seconds: number, perSecond = of.perSecond, restMs = 0) =>
    runRound(generator, of.cpu, {
      work: { kind: 'messages' },
      port: of.port,
      connections,
      count: perSecond * seconds,
      cycle: of.cycle,
      limitMs: seconds * 1_000,
      restMs,
      authority: system.authority,
      agents: agents.map(dataOf),
    })

  for (const each of contenders) await measure(each, options.connections, WARM_UP_SECONDS)
  for (let round = 0; round < options.rounds; round += 1) {
    for (const each of contenders) {
      each.rounds.push(await measure(each, options.connections, options.secondsPerRound))
      each.single.push(await measure(each, 1, 1, 1_000))
      each.idle.push(await measure(each, 1, IDLE_SECONDS, Math.ceil(1_000 / REST_MS), REST_MS))
    }
  }
  printTable(contenders, options)
}

function contender(
  name: string,
  port: number,
  requests: { perSecond: number; cycle: boolean },
  cpu: Contender['cpu'],
): Contender {
  return { name, port, ...requests, cpu, rounds: [], single: [], idle: [] }
}

function printTable(contenders: Contender[], { connections, rounds, secondsPerRound }: SendOptions): void {
  const rate = (of: Contender): number => rateOf(of.rounds)
  const [fixed, one] = contenders
  if (fixed === undefined || one === undefined) return
  console.log(`Direct messages, ${connections} connections, medians of ${rounds} rounds of ${secondsPerRound} s\n`)
  console.log(
    '| | accepted/s | of one process | of Fastify | p50 ms | p99 ms | one connection p50 ms | of one process | idle p50 ms | of one process |',
  )
  console.log('|---|---|---|---|---|---|---|---|---|---|')
  const p50 = (of: Round[]): number => median(of.map((round) => round.p50Ms))
  for (const each of contenders) {
    const cells = [
      each.name,
      rate(each).toFixed(0),
      (rate(each) / rate(one)).toFixed(2),
      (rate(each) / rate(fixed)).toFixed(3),
      p50(each.rounds).toFixed(1),
      median(each.rounds.map((round) => round.p99Ms)).toFixed(1),
      p50(each.single).toFixed(2),
      (p50(each.single) / p50(one.single)).toFixed(1),
      p50(each.idle).toFixed(2),
      (p50(each.idle) / p50(one.idle)).toFixed(1),
    ]
    console.log(`| ${cells.join(' | ')} |`)
  }
  console.log(`\nIdle: one connection, ${REST_MS} ms from each answer to the next request`)
  if (canMeasureCpu) printCpu(contenders)
  for (const each of contenders) printRefused(each.name, each.rounds)
}

function printCpu(contenders: Contender[]): void {
  console.log('\nCPU milliseconds for each accepted message, by process:\n')
  for (const each of contenders) {
    const costs = Object.entries(cpuPerRequest(each.rounds)).map(([name, cost]) => `${name} ${cost.toFixed(3)}`)
    console.log(`- ${each.name}: ${costs.join(', ')}`)
  }
}
