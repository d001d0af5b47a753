/**
 * Compares variants of the code, or of its settings. Each round is short and loads every variant in turn. A variant's
 * figures are divided by those of this checkout in the same round, because another busy program slows both alike. The
 * result is the median of these ratios, with its quartiles.
 */
import { existsSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import postgres from 'postgres'
import { type BenchSystem, startBenchSystem, startGenerator } from './bench-system.ts'
import { type BenchAgent, registerMany } from './load/bench-agents.ts'
import { median, percentile } from './load/http-load.ts'
import { type Load, loadsOf } from './load/loads.ts'
import { loaderOf, printRefused, type Round, rateOf } from './rounds.ts'
import { storeMessages } from './storage/store-messages.ts'

interface CompareOptions {
  connections: number
  rounds: number
  secondsPerRound: number
  agents: number
  /**
   * Variants, separated by spaces. Each is the folder of another checkout, a setting such as `SVC_REPLICAS=gateway:2`, or both,
   * joined by `+`.
   */
  with: string
  /** Messages that each system stores before the load. */
  stored: number
}

interface Variant {
  name: string
  /** The checkout whose code runs; undefined for this one. */
  root: string | undefined
  settings: NodeJS.ProcessEnv
  /** Number of gateways that share the load. */
  gateways: number
}

interface Running extends Variant {
  system: BenchSystem
  agents: BenchAgent[]
  /** Requests to prepare for one second. */
  perSecond: number
}

interface Measured {
  running: Running
  load: Load
  rounds: Round[]
}

interface Figure {
  name: string
  digits: number
  of: (round: Round) => number
}

/** To prepare for the warm-up. */
const PER_SECOND = 3_000
/** Requests to prepare for a round, relative to those that the variant accepted in the warm-up. Rounds are faster than the warm-up. */
const SPARE = 4
/** The fewest requests to prepare for one second. A round that runs out of them would only measure its last answers. */
const MIN_PER_SECOND = 1_500
const WARM_UP_SECONDS = 6
/** Long enough for about fifteen requests. */
const IDLE_SECONDS = 1

const FIGURES: readonly Figure[] = [
  { name: 'accepted/s', digits: 0, of: ({ accepted, elapsedMs }) => (accepted / elapsedMs) * 1_000 },
  { name: 'CPU ms each', digits: 3, of: cpuOf },
  { name: 'p50 ms', digits: 2, of: ({ p50Ms }) => p50Ms },
  { name: 'p99 ms', digits: 1, of: ({ p99Ms }) => p99Ms },
]

export async function benchCompare(options: CompareOptions): Promise<void> {
  const variants: Variant[] = [
    { name: 'this checkout', root: undefined, settings: {}, gateways: 1 },
    ...options.with
      .split(' ')
      .filter((word) => word !== '')
      .map(variantOf),
  ]
  await using stack = new AsyncDisposableStack()
  const running: Running[] = []
  for (const variant of variants) {
    process.stderr.write(`starts ${variant.name}\n`)
    const system = stack.use(await startBenchSystem(variant.settings, variant.root))
    const agents = await registerMany(options.agents, system.authority)
    await prepareStored(system, agents, options.stored)
    running.push({ ...variant, system, agents, perSecond: PER_SECOND })
  }
  const generator = stack.adopt(startGenerator(), (child) => void child.kill())
  const measure = ({ system, gateways, agents, perSecond }: Running, load: Load): Promise<Round> =>
    loaderOf(
      generator,
      system,
      agents,
    )(
      { kind: 'messages' },
      {
        gateways,
        connections: load.connections,
        count: Math.ceil((load.perSecond ?? perSecond) * load.seconds),
        seconds: load.seconds,
        restMs: load.restMs ?? 0,
      },
    )

  const warmUp = { name: 'warm-up', connections: options.connections, seconds: WARM_UP_SECONDS }
  for (const each of running) {
    each.perSecond = Math.max(MIN_PER_SECOND, SPARE * rateOf([await measure(each, warmUp)]))
  }
  const loads = loadsOf({ ...options, idleSeconds: IDLE_SECONDS })
  const all: Measured[] = loads.flatMap((load) => running.map((each) => ({ running: each, load, rounds: [] })))
  for (let round = 0; round < options.rounds; round += 1) {
    process.stderr.write(`round ${round + 1} of ${options.rounds}\n`)
    for (const load of loads) {
      const turns = all.filter((each) => each.load === load)
      // Every other round in the opposite order, so that no variant always follows the same one.
      for (const each of round % 2 === 0 ? turns : turns.toReversed())
        each.rounds.push(await measure(each.running, load))
    }
  }
  for (const load of loads) {
    printLoad(
      load,
      all.filter((each) => each.load === load),
      options,
    )
  }
  for (const { running: variant, rounds } of all) printRefused(variant.name, rounds)
}

async function prepareStored(system: BenchSystem, agents: readonly BenchAgent[], count: number): Promise<void> {
  const [reader, writer] = agents
  if (count === 0 || reader === undefined || writer === undefined) return
  const sql = postgres(system.adminUrl, { max: 1, onnotice: () => {} })
  try {
    const who = { reader: reader.agentId, writer: writer.agentId, board: 'bench-board' }
    await storeMessages(sql, who, count)
  } finally {
    await sql.end()
  }
}

/** @throws RangeError if a part is neither a checkout nor a setting. */
function variantOf(word: string): Variant {
  const variant: Variant = { name: word, root: undefined, settings: {}, gateways: 1 }
  for (const part of word.split('+')) {
    const [, name, value = ''] = /^([A-Z_]+)=(.*)$/.exec(part) ?? []
    if (name === undefined) {
      variant.root = resolve(part)
      variant.name = word.replace(part, basename(part))
      if (!existsSync(join(variant.root, 'deploy/local/src/main.ts')))
        throw new RangeError(
          `--with has "${part}": write the folder of a checkout, or a setting such as SVC_REPLICAS=gateway:2`,
        )
    } else {
      variant.settings[name] = value
      if (name === 'SVC_REPLICAS') variant.gateways = Number(/gateway:(\d+)/.exec(value)?.[1] ?? 1)
    }
  }
  return variant
}

function printLoad({ name }: Load, measured: readonly Measured[], { rounds, secondsPerRound }: CompareOptions): void {
  const [base] = measured
  if (base === undefined) return
  console.log(`\nConnections: ${name}. ${rounds} rounds of ${secondsPerRound} s\n`)
  console.log(`| | ${FIGURES.map((figure) => `${figure.name} | ratio`).join(' | ')} |`)
  console.log(`|---|${FIGURES.map(() => '---|---|').join('')}`)
  for (const each of measured) {
    const cells = FIGURES.flatMap(({ digits, of }) => [
      median(each.rounds.map(of)).toFixed(digits),
      each === base ? '1' : ratioOf(each.rounds.map(of), base.rounds.map(of)),
    ])
    console.log(`| ${[each.running.name, ...cells].join(' | ')} |`)
  }
}

/** The median of the rounds' ratios, and their quartiles. */
function ratioOf(values: number[], base: number[]): string {
  const ratios = values.map((value, index) => value / (base[index] ?? Number.NaN)).toSorted((a, b) => a - b)
  const [low, middle, high] = [0.25, 0.5, 0.75].map((share) => percentile(ratios, share).toFixed(2))
  return `${middle} (${low} to ${high})`
}

/** CPU milliseconds of all processes but the generator, for each accepted message. */
function cpuOf({ cpu, accepted }: Round): number {
  const total = Object.entries(cpu).reduce((sum, [name, ms]) => sum + (name === 'generator' ? 0 : ms), 0)
  return total / accepted
}
