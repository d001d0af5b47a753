/** The cost of idle event streams: memory, and CPU for leases and heads, heartbeats and reconnections. */
import { DEFAULTS } from '@svc/contracts/limits.ts'
import { type BenchSystem, startBenchSystem } from '../bench-system.ts'
import { type BenchAgent, dataOf, registerMany } from '../load/bench-agents.ts'
import { askClient, CLOSED_MS, delay, QUIET_MS, startClient } from './live-client-process.ts'

/** Two streams for each agent. With this many streams, a recent growth of the heap or a pending collection hardly changes the result. */
const STREAMS = 5_000
/** The default interval, and the maximum. The difference between the two is the cost of heartbeats. */
const HEARTBEAT_SECONDS = { usual: 15, rare: 55 }
/** Long enough for several rounds of all periodic work of a process. */
const WATCHED_MS = 30_000

/** The most that leases and heads of all these streams may take together, in percent of one core. */
const LEASES_AND_HEADS_TARGET = 5

/** CPU time as percent of one core, by kind of process. */
type Shares = Record<string, number>

interface Idle {
  memoryKib: Record<string, number>
  /** CPU milliseconds of all processes for opening one stream. */
  openMs: number
  withoutStreams: Shares
  withStreams: Shares
}

export async function benchIdleStreams(): Promise<void> {
  const usual = await measureIdle(HEARTBEAT_SECONDS.usual)
  const rare = await measureIdle(HEARTBEAT_SECONDS.rare)
  const kib = (name: string): string => (usual.memoryKib[name] ?? 0).toFixed(0)
  console.log(`\nResident memory for each of ${STREAMS} idle streams, KiB:`)
  console.log(`stream ${kib('stream')}, gateway ${kib('gateway')}\n`)
  printCpu(usual, rare)
}

async function measureIdle(heartbeatSeconds: number): Promise<Idle> {
  await using system = await startBenchSystem({
    SVC_STREAMS_PER_PROCESS: String(STREAMS),
    SVC_STREAM_HEARTBEAT_SECONDS: String(heartbeatSeconds),
    SVC_MAX_CONNECTIONS_PER_CLIENT: String(2 * STREAMS),
  })
  await using stack = new AsyncDisposableStack()
  const agents = await registerMany(STREAMS / 2, system.authority)
  const client = stack.adopt(startClient(), (child) => void child.kill())
  const order = { kind: 'open', port: system.port, authority: system.authority } as const
  const open = async (some: readonly BenchAgent[]): Promise<void> => {
    // Open a few at a time, as in production. Opening all at once would measure the memory of concurrent requests.
    for (let at = 0; at < some.length; at += 10)
      await askClient(client, { ...order, agents: some.slice(at, at + 10).map(dataOf) })
  }
  await open(agents) // warm-up
  await askClient(client, { kind: 'close' })
  await delay(CLOSED_MS + QUIET_MS)
  const withoutStreams = await watchCpu(system)
  const before = { memory: system.memory(), cpuMs: sumOf(system.cpu()) }
  await open(agents)
  await open(agents)
  const openMs = (sumOf(system.cpu()) - before.cpuMs) / STREAMS
  await delay(QUIET_MS)
  const memory = system.memory()
  const kibOf = (name: string): number => ((memory[name] ?? 0) - (before.memory[name] ?? 0)) / 1024 / STREAMS
  const memoryKib = Object.fromEntries(Object.keys(memory).map((name) => [name, kibOf(name)]))
  return { memoryKib, openMs, withoutStreams, withStreams: await watchCpu(system) }
}

async function watchCpu(system: BenchSystem): Promise<Shares> {
  const before = system.cpu()
  await delay(WATCHED_MS)
  const after = system.cpu()
  const shareOf = (name: string): number => ((after[name] ?? 0) - (before[name] ?? 0)) / (WATCHED_MS / 100)
  return Object.fromEntries(Object.keys(after).map((name) => [name, shareOf(name)]))
}

/**
 * A table of CPU by process. The column of the heartbeats is computed from the two intervals, because their cost is linear. A
 * stream reconnects after minutes, so no reconnection falls into the time that is watched.
 */
function printCpu(usual: Idle, rare: Idle): void {
  const [usualPerSecond, rarePerSecond] = [STREAMS / HEARTBEAT_SECONDS.usual, STREAMS / HEARTBEAT_SECONDS.rare]
  const extra = (idle: Idle, name: string): number => (idle.withStreams[name] ?? 0) - (idle.withoutStreams[name] ?? 0)
  const rows = Object.keys(usual.withStreams).map((name) => {
    const eachBeat = (extra(usual, name) - extra(rare, name)) / (usualPerSecond - rarePerSecond)
    return { name, streams: extra(usual, name), beats: eachBeat * usualPerSecond }
  })
  console.log(`CPU of ${STREAMS} idle streams, percent of a core, less that of the same system without streams, over`)
  console.log(
    `${WATCHED_MS / 1_000} s, heartbeats every ${HEARTBEAT_SECONDS.usual} s and ${HEARTBEAT_SECONDS.rare} s:\n`,
  )
  console.log('| process | all | heartbeats | leases and heads |')
  console.log('|---|---|---|---|')
  const print = (name: string, streams: number, beats: number): void =>
    console.log(`| ${name} | ${[streams, beats, streams - beats].map(percent).join(' | ')} |`)
  for (const { name, streams, beats } of rows) print(name, streams, beats)
  const streams = rows.reduce((sum, row) => sum + row.streams, 0)
  const heartbeats = rows.reduce((sum, row) => sum + row.beats, 0)
  const leasesAndHeads = streams - heartbeats
  print('sum', streams, heartbeats)
  const verdict = leasesAndHeads < LEASES_AND_HEADS_TARGET ? 'met' : 'missed'
  console.log(
    `\nLeases and heads: ${percent(leasesAndHeads)} %; the target of less than ${LEASES_AND_HEADS_TARGET} % is ${verdict}.`,
  )
  const opensPerSecond = STREAMS / DEFAULTS.streamSeconds
  console.log(
    `Reconnections, not in the table: ${((opensPerSecond * usual.openMs) / 10).toFixed(1)} %. Each stream opens again after ${DEFAULTS.streamSeconds} s, which are ${opensPerSecond.toFixed(1)} a second. Opening costs ${usual.openMs.toFixed(1)} ms over all processes, on a fresh connection.`,
  )
}

/** Formats a share with one decimal. Prints 0.0 and never -0.0. */
function percent(share: number): string {
  return (Math.round(share * 10) / 10 + 0).toFixed(1)
}

function sumOf(byName: Record<string, number>): number {
  return Object.values(byName).reduce((sum, value) => sum + value, 0)
}
