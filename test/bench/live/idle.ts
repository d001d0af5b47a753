/** The cost of idle event streams: memory for each, and CPU time although nothing happens. */
import { type BenchSystem, startBenchSystem } from '../bench-system.ts'
import { type BenchAgent, createBenchAgent, dataOf, registerAgent } from '../load/bench-agents.ts'
import { record } from '../record.ts'
import { askClient, CLOSED_MS, delay, QUIET_MS, startClient } from './live-client-process.ts'

/** Two streams for each agent. With this many streams, a recent growth of the heap or a pending collection hardly changes the result. */
const STREAMS = 5_000
/** The default interval, and the maximum. The difference between the two is the cost of heartbeats. */
const HEARTBEAT_SECONDS = { usual: 15, rare: 55 }
/** Long enough for several rounds of all periodic work of a process. */
const WATCHED_MS = 30_000

/** CPU time as percent of one core, by kind of process. */
type Shares = Record<string, number>

interface Idle {
  memoryKib: Record<string, number>
  /** CPU milliseconds of all processes for opening one stream. */
  openMs: number
  withoutStreams: Shares
  withStreams: Shares
}

/** @param options.record writes the memory of a stream to the file that the scaling plan reads. */
export async function benchIdleStreams(options: { record: boolean }): Promise<void> {
  const usual = await measureIdle(HEARTBEAT_SECONDS.usual)
  const rare = await measureIdle(HEARTBEAT_SECONDS.rare)
  const kib = (name: string): string => (usual.memoryKib[name] ?? 0).toFixed(0)
  console.log(`\nResident memory for each of ${STREAMS} idle streams, KiB:`)
  console.log(`stream ${kib('stream')}, gateway ${kib('gateway')}\n`)
  printCpu(usual, rare)
  if (options.record) record('idle', { streamKib: Number(kib('stream')), gatewayKib: Number(kib('gateway')) })
}

async function measureIdle(heartbeatSeconds: number): Promise<Idle> {
  await using system = await startBenchSystem({
    SVC_STREAMS_PER_PROCESS: String(STREAMS),
    SVC_STREAM_HEARTBEAT_SECONDS: String(heartbeatSeconds),
    SVC_MAX_CONNECTIONS_PER_CLIENT: String(2 * STREAMS),
  })
  await using stack = new AsyncDisposableStack()
  const agents = Array.from({ length: STREAMS / 2 }, (_, index) => createBenchAgent(`bench-${index}`))
  for (const agent of agents) await registerAgent(agent, `http://${system.authority}`, system.authority)
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

/** A table of CPU by process. The columns without heartbeats are computed from the two intervals, because the cost is linear. */
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
    console.log(`| ${name} | ${[streams, beats, streams - beats].map((share) => share.toFixed(1)).join(' | ')} |`)
  for (const { name, streams, beats } of rows) print(name, streams, beats)
  print(
    'sum',
    rows.reduce((sum, row) => sum + row.streams, 0),
    rows.reduce((sum, row) => sum + row.beats, 0),
  )
  console.log(
    `\nOpening a stream costs ${usual.openMs.toFixed(1)} ms of CPU over all processes, on a fresh connection.`,
  )
}

function sumOf(byName: Record<string, number>): number {
  return Object.values(byName).reduce((sum, value) => sum + value, 0)
}
