/**
 * The metrics of this process, in one registry: a process is one service, so all counts of its libraries belong to that
 * service. Names are `agentmsg_…`, in base units, and every metric has its row in docs/operating/observe.md.
 *
 * The values of a label are few and known in advance: names of operations, calls, statements, outcomes. Never use an id, a
 * path, an address or any other value that a client can choose (ADR 22).
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { describeError, type Logger } from './logger.ts'
import { sayOnce } from './problem-log.ts'

type Labels<Name extends string, Value = string> = Readonly<Record<Name, Value>>

/** The prefix of all names. No other exporter of a cluster uses it. */
type Own<Rest extends string> = `agentmsg_${Rest}`

interface Definition<Name extends string> {
  /** Ends in the unit, if there is one: `_seconds`, `_bytes`. Only a counter's name ends in `_total`. */
  readonly name: Own<string>
  readonly help: string
  readonly labels: readonly Name[]
}

/** Counts events. */
interface Count<Name extends string> {
  add(labels: Labels<Name>, count?: number): void
  /**
   * Creates the series of failures at 0, one for each combination of the values. Prometheus sees no increase in a series that
   * begins with 1, so without this no alert would notice the first failure. May be called again.
   */
  startAt0(labels: Labels<Name, string | readonly string[]>): void
}

/** Records a duration or a size for each event. */
interface Distribution<Name extends string> {
  observe(labels: Labels<Name>, value: number): void
}

/** A current value, which is read when metrics are scraped. */
interface Level<Name extends string> {
  /**
   * @param read may call other processes. If it fails or takes more than 2 s, this scrape has no value, which is not the
   * same as 0. The values of several readers with the same labels are added up.
   */
  read(read: () => Readings<Name> | Promise<Readings<Name>>): Disposable
}

interface Metered {
  readonly service: string
  readonly version: string
  /** Called with a warning if the value of a metric cannot be read. */
  readonly logger: Pick<Logger, 'warn'>
}

type Readings<Name extends string> = readonly (readonly [labels: Labels<Name>, value: number])[]

/** From the duration of a batched statement to the longest wait of a client (spec 3.17: 5 s). */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]
const READ_LIMIT_MS = 2_000

const registry = new Registry()
// Without a metrics port nothing is counted, and counting costs nothing.
let isWatched = false
/** Run when counting starts. */
let starts: (() => void)[] = []
let warn: (text: string) => void = () => {}

/** Starts counting, under the name of this service. Also collects the metrics of the process itself. */
export function startMetrics({ service, version, logger }: Metered): void {
  if (isWatched) return
  isWatched = true
  warn = sayOnce((text) => logger.warn(text))
  registry.setDefaultLabels({ component: service })
  collectDefaultMetrics({ register: registry })
  const info = defineLevel({
    name: 'agentmsg_build_info',
    help: 'Always 1; its labels say which code runs',
    labels: ['version', 'node'],
  })
  info.read(() => [[{ version, node: process.versions.node }, 1]])
  const clock = defineLevel({
    name: 'agentmsg_clock_seconds',
    help: 'Unix time by the clock of this process, when it was scraped',
    labels: [],
  })
  clock.read(() => [[{}, Date.now() / 1_000]])
  for (const start of starts) start()
  starts = []
}

/** @returns all metrics in the text format of Prometheus, and its media type. */
export async function renderMetrics(): Promise<{ text: string; type: string }> {
  return { text: await registry.metrics(), type: registry.contentType }
}

export function defineCount<Name extends string = never>({
  name,
  help,
  labels,
}: Definition<Name> & { readonly name: Own<`${string}_total`> }): Count<Name> {
  const counter = new Counter({ name, help, labelNames: labels, registers: [registry] })
  // A metric without labels has one series, which exists from the start. With labels, a series starts with its first event,
  // unless it was started at 0.
  return {
    add: (values, count = 1) => {
      if (isWatched) counter.inc(values, count)
    },
    startAt0: (values) => {
      const start = (): void => {
        for (const labels of combinations(values)) counter.inc(labels, 0)
      }
      if (isWatched) start()
      else starts.push(start)
    },
  }
}

export function defineDistribution<Name extends string = never>({
  name,
  help,
  labels,
  buckets = SECONDS,
}: Definition<Name> & {
  readonly name: Own<`${string}_${'seconds' | 'bytes' | 'items'}`>
  readonly buckets?: number[]
}): Distribution<Name> {
  const histogram = new Histogram({ name, help, labelNames: labels, buckets, registers: [registry] })
  return {
    observe: (values, value) => {
      if (isWatched) histogram.observe(values, value)
    },
  }
}

export function defineLevel<Name extends string = never>({ name, help, labels }: Definition<Name>): Level<Name> {
  const readers = new Set<() => Readings<Name> | Promise<Readings<Name>>>()
  const gauge = new Gauge({
    name,
    help,
    labelNames: labels,
    registers: [registry],
    async collect() {
      const read = await Promise.all([...readers].map((reader) => readInTime(name, reader)))
      gauge.reset()
      if (labels.length === 0 && read.every((readings) => readings === undefined)) gauge.remove()
      for (const [values, value] of read.flatMap((readings) => readings ?? [])) gauge.inc(values, value)
    },
  })
  return {
    read(reader) {
      const own = (): Readings<Name> | Promise<Readings<Name>> => reader()
      readers.add(own)
      return { [Symbol.dispose]: () => void readers.delete(own) }
    },
  }
}

function combinations<Name extends string>(values: Labels<Name, string | readonly string[]>): Labels<Name>[] {
  let made: Record<string, string>[] = [{}]
  for (const [name, value] of Object.entries<string | readonly string[]>(values)) {
    made = made.flatMap((labels) => [value].flat().map((one) => ({ ...labels, [name]: one })))
  }
  return made as Labels<Name>[]
}

async function readInTime<T>(name: string, read: () => T | Promise<T>): Promise<T | undefined> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error('reading it takes too long')), READ_LIMIT_MS)
  try {
    return await Promise.race([Promise.resolve(read()), late.promise])
  } catch (error) {
    warn(`${name} has no value in this scrape: ${describeError(error as Error).message}`)
    return undefined
  } finally {
    clearTimeout(timer)
  }
}
