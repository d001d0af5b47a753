/**
 * Direct messages, durable at 202, compared with the floors. Machines are shared, so rounds alternate in one run. Results
 * are medians of the rounds, and ratios of medians.
 */

import { writeFileSync } from 'node:fs'
import { lineChart } from '../../support/charts/line-chart.ts'
import { type BenchSystem, startBenchSystem, startFloor, startGenerator, stop } from './bench-system.ts'
import { type BenchAgent, dataOf, registerMany } from './load/bench-agents.ts'
import { median } from './load/http-load.ts'
import { type Load, loadsOf, REST_MS } from './load/loads.ts'
import { canMeasureCpu, cpuMs } from './process-cpu.ts'
import { cpuPerRequest, printRefused, type Round, rateOf, runRound } from './rounds.ts'

interface SendOptions {
  /** Connections of the main load, for which CPU is printed. */
  connections: number
  rounds: number
  secondsPerRound: number
  agents: number
  /** The file for an SVG chart of rate and latency over connections. */
  chart: string | undefined
}

/** A server that is measured. */
interface Contender {
  name: string
  port: number
  /** Requests to prepare for one second. A server that does not check them gets the same thousand again and again. */
  perSecond: number
  cycle: boolean
  cpu: () => Record<string, number>
}

/** The servers that the system is compared with. */
interface Floors {
  fastify: Contender
  /** Verifies signatures with `node:crypto`. Performance targets refer to this floor. */
  floor: Contender
  /** The same floor with libsodium, which the system uses if it can be loaded. */
  sodiumFloor: Contender
}

/** One contender under one load. */
interface Measured {
  contender: Contender
  load: Load
  rounds: Round[]
}

const IDLE_SECONDS = 4
/** Further loads for the points of the chart. */
const CHARTED_CONNECTIONS = [4, 16]
/** The warm-up: code is compiled, plans are cached and every pair of agents is introduced. */
const WARM_UP_SECONDS = 12

export async function benchSend(options: SendOptions): Promise<void> {
  await using system = await startBenchSystem()
  await using floors = new AsyncDisposableStack()
  const agents = await registerMany(options.agents, system.authority)

  const generator = startGenerator()
  floors.defer(() => {
    generator.kill()
  })

  const { fastify, floor, sodiumFloor, ours } = await startContenders(system, agents, floors)
  const contenders = [fastify, floor, sodiumFloor, ours]
  const measure = ({ port, perSecond, cycle, cpu }: Contender, load: Load): Promise<Round> =>
    runRound(generator, cpu, {
      work: { kind: 'messages' },
      port,
      connections: load.connections,
      count: (load.perSecond ?? perSecond) * load.seconds,
      cycle,
      limitMs: load.seconds * 1_000,
      restMs: load.restMs ?? 0,
      authority: system.authority,
      agents: agents.map(dataOf),
    })

  const further = options.chart === undefined ? [] : CHARTED_CONNECTIONS
  const loads = loadsOf({ ...options, idleSeconds: IDLE_SECONDS, further })
  const all: Measured[] = loads.flatMap((load) => contenders.map((contender) => ({ contender, load, rounds: [] })))
  for (const each of contenders)
    await measure(each, { name: 'warm-up', connections: options.connections, seconds: WARM_UP_SECONDS })
  for (let round = 0; round < options.rounds; round += 1) {
    for (const each of all) each.rounds.push(await measure(each.contender, each.load))
  }

  printTable(all, { fastify, floor, sodiumFloor }, options)
  const main = all.filter(({ load }) => load.connections === options.connections)
  if (canMeasureCpu) printCpu(main)
  for (const { contender, rounds } of all) printRefused(contender.name, rounds)
  const ofSystem = all.filter(({ contender }) => contender === ours)
  if (options.chart !== undefined) {
    writeFileSync(options.chart, chartOf(ofSystem))
    console.log(`\nchart: ${options.chart}`)
  }
}

/** Starts the floors. The system is already running. */
async function startContenders(
  system: BenchSystem,
  agents: readonly BenchAgent[],
  floors: AsyncDisposableStack,
): Promise<Floors & { ours: Contender }> {
  const fixed = await startFloor('fixed')
  floors.defer(() => stop(fixed.child))
  const fastify: Contender = {
    name: 'Fastify, fixed 202',
    port: fixed.port,
    perSecond: 1_000,
    cycle: true,
    cpu: () => ({ floor: cpuMs(fixed.child.pid ?? 0) }),
  }
  const oneProcess = async (name: string, engine: 'node:crypto' | 'libsodium'): Promise<Contender> => {
    const { child, port } = await startFloor('one-process', {
      FLOOR_DATABASE_URL: system.adminUrl,
      FLOOR_AUTHORITY: system.authority,
      FLOOR_ENGINE: engine,
      FLOOR_KEYS: JSON.stringify(
        Object.fromEntries(agents.map((agent) => [agent.agentId, Buffer.from(agent.publicKey).toString('hex')])),
      ),
    })
    floors.defer(() => stop(child))
    const cpu = () => ({ floor: cpuMs(child.pid ?? 0), postgres: system.cpu().postgres ?? 0 })
    return { name, port, perSecond: 16_000, cycle: false, cpu }
  }
  const floor = await oneProcess('one process', 'node:crypto')
  const sodiumFloor = await oneProcess('one process with libsodium', 'libsodium')
  const ours: Contender = { name: 'the system', port: system.port, perSecond: 12_000, cycle: false, cpu: system.cpu }
  return { fastify, floor, sodiumFloor, ours }
}

function printTable(
  all: readonly Measured[],
  { fastify, floor, sodiumFloor }: Floors,
  { rounds, secondsPerRound }: SendOptions,
): void {
  console.log(`Direct messages, medians of ${rounds} rounds of ${secondsPerRound} s\n`)
  console.log(
    '| connections | | accepted/s | of one process | of one with libsodium | of Fastify | p50 ms | of one process | p99 ms |\n|---|---|---|---|---|---|---|---|---|',
  )
  for (const { contender, load, rounds: own } of all) {
    const roundsOf = (other: Contender): Round[] =>
      all.find((one) => one.contender === other && one.load === load)?.rounds ?? []
    const cells = [
      load.name,
      contender.name,
      rateOf(own).toFixed(0),
      (rateOf(own) / rateOf(roundsOf(floor))).toFixed(2),
      (rateOf(own) / rateOf(roundsOf(sodiumFloor))).toFixed(2),
      (rateOf(own) / rateOf(roundsOf(fastify))).toFixed(3),
      p50Of(own).toFixed(2),
      (p50Of(own) / p50Of(roundsOf(floor))).toFixed(1),
      p99Of(own).toFixed(1),
    ]
    console.log(`| ${cells.join(' | ')} |`)
  }
  console.log(`\nAt rest: ${REST_MS} ms from each answer to the next request`)
}

function printCpu(main: readonly Measured[]): void {
  console.log('\nCPU milliseconds for each accepted message, by process:\n')
  for (const { contender, rounds } of main) {
    const costs = Object.entries(cpuPerRequest(rounds)).map(([name, cost]) => `${name} ${cost.toFixed(3)}`)
    console.log(`- ${contender.name}: ${costs.join(', ')}`)
  }
}

function chartOf(ofSystem: readonly Measured[]): string {
  const busy = ofSystem.filter(({ load }) => load.restMs === undefined)
  const points = (of: (rounds: Round[]) => number) =>
    busy.map(({ load, rounds }) => [load.connections, of(rounds)] as const)
  return lineChart({
    title: 'Direct messages',
    across: 'connections',
    logarithmic: true,
    lines: [
      { name: 'accepted per second', points: points(rateOf) },
      { name: 'p50, ms', points: points(p50Of) },
      { name: 'p99, ms', points: points(p99Of) },
    ],
  })
}

function p50Of(rounds: Round[]): number {
  return median(rounds.map((round) => round.p50Ms))
}

function p99Of(rounds: Round[]): number {
  return median(rounds.map((round) => round.p99Ms))
}
