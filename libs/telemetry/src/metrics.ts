/**
 * The metrics of this process, in one registry: a process is one service, so what its libraries count is its own. Names are
 * `svc_…`, in base units, and every metric has its row in docs/observability.md.
 *
 * A label's values are few and known beforehand: names of operations, calls, statements, outcomes. Never an id, a path, an
 * address or anything else that a client can choose (ADR 22).
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

export type Labels<Name extends string> = Readonly<Record<Name, string>>

export interface Definition<Name extends string> {
  /** `svc_…`; a counter's ends in `_total`, what has a unit in `_seconds`, `_bytes`. */
  readonly name: string
  readonly help: string
  readonly labels: readonly Name[]
}

/** What happened, so many times. */
export interface Count<Name extends string> {
  add(labels: Labels<Name>, count?: number): void
}

/** How long, or how much, each time. */
export interface Distribution<Name extends string> {
  observe(labels: Labels<Name>, value: number): void
}

/** What is so now, asked for when somebody wants to know. */
export interface Level<Name extends string> {
  /**
   * @param read may ask others: one that fails, or takes longer than 2 s, says nothing that time, which is not 0. What several
   *   say under the same labels is added up.
   */
  read(read: () => Readings<Name> | Promise<Readings<Name>>): Disposable
}

export type Readings<Name extends string> = readonly (readonly [labels: Labels<Name>, value: number])[]

/** From what a batched statement takes to the longest that a client waits (spec 3.17: 5 s). */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]
const READ_LIMIT_MS = 2_000

const registry = new Registry()
// Where nobody can ask, nothing is counted, and counting costs nothing.
let isWatched = false

/** From now on things are counted, under the name of this service, and of the process itself as well. */
export function startMetrics(service: string, version: string): void {
  if (isWatched) return
  isWatched = true
  registry.setDefaultLabels({ component: service })
  collectDefaultMetrics({ register: registry })
  const info = defineLevel({ name: 'svc_build_info', help: 'Always 1; what runs', labels: ['version', 'node'] })
  info.read(() => [[{ version, node: process.versions.node }, 1]])
}

/** @returns all metrics in the text format of Prometheus, and its media type. */
export async function renderMetrics(): Promise<{ text: string; type: string }> {
  return { text: await registry.metrics(), type: registry.contentType }
}

export function defineCount<Name extends string = never>({ name, help, labels }: Definition<Name>): Count<Name> {
  const counter = new Counter({ name, help, labelNames: labels, registers: [registry] })
  // Without labels there is one series, and it is there from the beginning; with them, one from its first time.
  return {
    add: (values, count = 1) => {
      if (isWatched) counter.inc(values, count)
    },
  }
}

export function defineDistribution<Name extends string = never>({
  name,
  help,
  labels,
  buckets = SECONDS,
}: Definition<Name> & { readonly buckets?: number[] }): Distribution<Name> {
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
      const read = await Promise.all([...readers].map((reader) => readInTime(reader)))
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

async function readInTime<T>(read: () => T | Promise<T>): Promise<T | undefined> {
  const late = Promise.withResolvers<undefined>()
  const timer = setTimeout(() => late.resolve(undefined), READ_LIMIT_MS)
  try {
    return await Promise.race([Promise.resolve(read()), late.promise])
  } catch {
    return undefined
  } finally {
    clearTimeout(timer)
  }
}
