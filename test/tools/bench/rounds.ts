import type { ChildProcess } from 'node:child_process'
import type { BenchSystem } from './bench-system.ts'
import { type BenchAgent, dataOf } from './load/bench-agents.ts'
import type { Order, Report, Work } from './load/generator.ts'
import { median } from './load/http-load.ts'
import { cpuMs } from './process-cpu.ts'

/** The result of one round. */
export interface Round extends Report {
  /** CPU milliseconds of this round alone, by process. */
  cpu: Record<string, number>
}

/** Runs one round of the generator. Counts CPU time from the moment when its requests are ready. */
export function runRound(generator: ChildProcess, cpu: () => Record<string, number>, order: Order): Promise<Round> {
  const cpuNow = (): Record<string, number> => ({ ...cpu(), generator: cpuMs(generator.pid ?? 0) })
  return new Promise((resolve, reject) => {
    let before: Record<string, number> = {}
    const onExit = (): void => reject(new Error('the generator ended'))
    const onMessage = (message: 'prepared' | Report): void => {
      if (message === 'prepared') {
        before = cpuNow()
        return
      }
      generator.off('message', onMessage)
      generator.off('exit', onExit)
      const used = Object.fromEntries(Object.entries(cpuNow()).map(([name, ms]) => [name, ms - (before[name] ?? 0)]))
      resolve({ ...message, cpu: used })
    }
    generator.on('message', onMessage)
    generator.on('exit', onExit)
    generator.send(order)
  })
}

type Load = Pick<Order, 'connections' | 'count' | 'restMs' | 'gateways'> & { readonly seconds: number }

/** @returns a function that loads a system for some seconds, with requests of these agents. */
export function loaderOf(
  generator: ChildProcess,
  { port, authority, cpu }: Pick<BenchSystem, 'port' | 'authority' | 'cpu'>,
  agents: readonly BenchAgent[],
): (work: Work, load: Load) => Promise<Round> {
  const data = agents.map(dataOf)
  return (work, { seconds, ...load }) =>
    runRound(generator, cpu, { ...load, work, port, authority, agents: data, cycle: false, limitMs: seconds * 1_000 })
}

/** Accepted requests per second: the median of the rounds. */
export function rateOf(rounds: Round[]): number {
  return median(rounds.map((round) => (round.accepted / round.elapsedMs) * 1_000))
}

/** CPU milliseconds for each accepted request, by process: medians of the rounds. */
export function cpuPerRequest(rounds: Round[]): Record<string, number> {
  const names = Object.keys(rounds[0]?.cpu ?? {})
  return Object.fromEntries(
    names.map((name) => [name, median(rounds.map((round) => (round.cpu[name] ?? 0) / round.accepted))]),
  )
}

/** Prints the unexpected answers. A valid benchmark has none. */
export function printRefused(name: string, rounds: Round[]): void {
  const refused = rounds.flatMap((round) => Object.entries(round.refused))
  if (refused.length > 0) console.log(`\n${name} also answered: ${JSON.stringify(refused.slice(0, 5))}`)
}
