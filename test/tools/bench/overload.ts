/**
 * Overload: offers a multiple of the capacity, and does not slow down if answers are late. Measures the goodput, the latency
 * of refusals, the memory, and the time to recover. The capacity is measured in the same run.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { type BenchSystem, startBenchSystem, startGenerator } from './bench-system.ts'
import { type BenchAgent, dataOf, registerMany, signedRequest } from './load/bench-agents.ts'
import { median, percentile } from './load/http-load.ts'
import type { OpenLoadResult } from './load/open-load.ts'
import type { OverloadOrder } from './load/overload-generator.ts'
import { loaderOf, type Round, rateOf } from './rounds.ts'

interface OverloadOptions {
  connections: number
  rounds: number
  secondsPerRound: number
  agents: number
  /** Relative to the capacity. */
  times: number
}

const WARM_UP_SECONDS = 3
/** Independent clients: several times the number of requests that a gateway handles at once. */
const CLIENTS = 3_000
const WATCH_MS = 200
/** Share of the earlier capacity. The system has recovered when one second reaches this share without a refusal. */
const STEADY_SHARE = 0.7
const RECOVERY_LIMIT_MS = 10_000
const GIVEN_UP_MS = 30_000
const MIB = 1024 * 1024
/**
 * Several times the bytes that a process may keep (docs/architecture.md, Bounds: 96 MiB), because V8 keeps garbage until
 * its next collection.
 */
const MAX_GROWTH_BYTES = 512 * MIB

interface Watch {
  readonly latenciesMs: number[]
  failed: number
}

type Measure = (seconds: number) => Promise<Round>

interface Recovery {
  /** From the end of the overload to the start of the first one-second round that counts as normal. */
  readonly afterMs: number
  readonly perSecond: number
}

/** @returns whether the bounds held: the system recovered in time, and its memory stayed bounded. */
export async function benchOverload(options: OverloadOptions): Promise<boolean> {
  await using system = await startBenchSystem()
  using stack = new DisposableStack()
  const agents = await registerMany(options.agents, system.authority)

  const measure = measureWith(system, agents, options, stack)
  const capacity = await measureCapacity(measure, options)
  const before = system.memory()
  const perSecond = Math.round(capacity * options.times)
  const generator = stack.adopt(
    fork(fileURLToPath(new URL('./load/overload-generator.ts', import.meta.url))),
    (child) => void child.kill(),
  )
  const watching = watch(system, agents)
  const order = {
    port: system.port,
    authority: system.authority,
    agents: agents.map(dataOf),
    perSecond,
    seconds: options.secondsPerRound * options.rounds,
    connections: CLIENTS,
  }
  const result = await offer(generator, order, watching.begin)
  const watched = await watching.end()
  const recovery = await measureRecovery(measure, capacity)
  const after = system.memory()
  return print({ capacity, perSecond, result, watched, recovery, before, after }, order)
}

function measureWith(
  system: BenchSystem,
  agents: BenchAgent[],
  { connections }: OverloadOptions,
  stack: DisposableStack,
): Measure {
  const generator = stack.adopt(startGenerator(), (child) => void child.kill())
  const load = loaderOf(generator, system, agents)
  return (seconds) => load({ kind: 'messages' }, { connections, count: 12_000 * seconds, seconds })
}

async function measureCapacity(measure: Measure, { rounds, secondsPerRound }: OverloadOptions): Promise<number> {
  await measure(WARM_UP_SECONDS)
  const measured: Round[] = []
  for (let round = 0; round < rounds; round += 1) measured.push(await measure(secondsPerRound))
  return rateOf(measured)
}

function offer(generator: ChildProcess, order: OverloadOrder, onBegin: () => void): Promise<OpenLoadResult> {
  return new Promise((resolve, reject) => {
    generator.on('exit', () => reject(new Error('the generator ended')))
    generator.on('message', (message: 'prepared' | OpenLoadResult) => {
      if (message === 'prepared') onBegin()
      else resolve(message)
    })
    generator.send(order)
  })
}

/** Peak memory, and the times of reads and health checks during the overload. */
function watch(system: BenchSystem, [reader]: BenchAgent[]) {
  const peak: Record<string, number> = {}
  const health: Watch = { latenciesMs: [], failed: 0 }
  const reads: Watch = { latenciesMs: [], failed: 0 }
  let watching = false
  const timer = setInterval(() => {
    if (!watching || reader === undefined) return
    for (const [name, bytes] of Object.entries(system.memory())) peak[name] = Math.max(peak[name] ?? 0, bytes)
    void ask(health, '/v2/health', {})
    void ask(reads, '/v2/events?limit=1', headersOf(reader, system.authority, '/v2/events?limit=1'))
  }, WATCH_MS)

  async function ask(into: Watch, path: string, headers: Record<string, string>): Promise<void> {
    const begun = performance.now()
    const response = await fetch(`http://${system.authority}${path}`, { headers }).catch(() => undefined)
    await response?.arrayBuffer()
    if (response?.status === 200) into.latenciesMs.push(performance.now() - begun)
    else into.failed += 1
  }

  return {
    begin: () => {
      watching = true
    },
    async end() {
      watching = false
      clearInterval(timer)
      return { peak, health, reads }
    },
  }
}

function headersOf(agent: BenchAgent, authority: string, target: string): Record<string, string> {
  const lines = signedRequest(agent, { authority, method: 'GET', target }).toString().split('\r\n')
  const pairs = lines.flatMap((line) => /^(Authorization|X-SVC-[A-Za-z]+): (.*)$/.exec(line)?.slice(1, 3) ?? [])
  return Object.fromEntries(
    Array.from({ length: pairs.length / 2 }, (_, at) => [pairs[2 * at] ?? '', pairs[2 * at + 1] ?? '']),
  )
}

/** Sends in rounds of one second, until a round has no refusals and reaches `STEADY_SHARE` of the capacity. */
async function measureRecovery(measure: Measure, capacity: number): Promise<Recovery> {
  const endedMs = performance.now()
  for (;;) {
    const round = await measure(1)
    const afterMs = performance.now() - round.elapsedMs - endedMs
    const perSecond = rateOf([round])
    const isSteady = Object.keys(round.refused).length === 0 && perSecond >= STEADY_SHARE * capacity
    if (isSteady) return { afterMs, perSecond }
    if (afterMs > GIVEN_UP_MS) return { afterMs: Number.POSITIVE_INFINITY, perSecond }
  }
}

interface Figures {
  capacity: number
  perSecond: number
  result: OpenLoadResult
  watched: { peak: Record<string, number>; health: Watch; reads: Watch }
  recovery: Recovery
  before: Record<string, number>
  after: Record<string, number>
}

function print(
  { capacity, perSecond, result, watched, recovery, before, after }: Figures,
  order: OverloadOrder,
): boolean {
  const seconds = result.elapsedMs / 1_000
  console.log(`Capacity ${capacity.toFixed(0)}/s; offered ${perSecond}/s for ${order.seconds} s\n`)
  console.log('| answer | in a second | p50 ms | p99 ms |')
  console.log('|---|---|---|---|')
  for (const [status, { count, p50Ms, p99Ms }] of Object.entries(result.answers))
    console.log(`| ${status} | ${(count / seconds).toFixed(0)} | ${p50Ms.toFixed(1)} | ${p99Ms.toFixed(1)} |`)
  const { health, reads } = watched
  for (const [name, { latenciesMs, failed }] of Object.entries({ health, reads })) {
    const p99 = percentile(
      latenciesMs.toSorted((a, b) => a - b),
      0.99,
    )
    const share = `${latenciesMs.length} of ${latenciesMs.length + failed}`
    console.log(`| ${name} meanwhile: ${share} | | ${median(latenciesMs).toFixed(1)} | ${p99.toFixed(1)} |`)
  }
  console.log(`\nSent ${result.sent}, not sent ${result.unsent}, connections broken ${result.broken}`)
  const recoveredSeconds = (recovery.afterMs / 1_000).toFixed(1)
  console.log(`Recovered ${recoveredSeconds} s after the end of the load, at ${recovery.perSecond.toFixed(0)}/s\n`)
  console.log('| resident MiB | before | at most | after |')
  console.log('|---|---|---|---|')
  const mib = (bytes = 0): string => (bytes / MIB).toFixed(0)
  for (const name of Object.keys(before))
    console.log(`| ${name} | ${mib(before[name])} | ${mib(watched.peak[name])} | ${mib(after[name])} |`)
  const grown = Object.entries(before).filter(
    ([name, bytes]) => Math.max(watched.peak[name] ?? 0, after[name] ?? 0) - bytes > MAX_GROWTH_BYTES,
  )
  const verdicts = {
    [`recovered within ${RECOVERY_LIMIT_MS / 1_000} s`]: recovery.afterMs <= RECOVERY_LIMIT_MS,
    [`nothing grew by more than ${mib(MAX_GROWTH_BYTES)} MiB`]: grown.length === 0,
  }
  console.log()
  for (const [what, held] of Object.entries(verdicts)) console.log(`${held ? 'held' : 'BROKEN'}  ${what}`)
  return !Object.values(verdicts).includes(false)
}
