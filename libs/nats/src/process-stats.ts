import { RequestStrategy, type ServiceStats } from 'nats'
import type { Nats } from './connect.ts'

/**
 * The statistics that a process adds to those of NATS micro services. NATS itself counts messages, which may carry many calls,
 * and never sees one of them fail.
 */
export interface ProcessStats {
  /** Calls since the start. */
  readonly calls: number
  /** Calls that failed with `internal` or `unavailable`. */
  readonly failed: number
  /** Calls in progress. */
  readonly working: number
  /** The total time of all calls. */
  readonly seconds: number
}

export interface ListedProcess {
  /** The name of its service. */
  readonly service: string
  /** The id of this process, until it ends. */
  readonly id: string
  readonly version: string
  /** ISO date and time. */
  readonly started: string
  /** Undefined if the process reports none. */
  readonly stats: ProcessStats | undefined
}

/** The longest wait for answers. A pause of `LIST_PAUSE_MS` after an answer means that it was the last one. */
const LIST_MS = 2_000
const LIST_PAUSE_MS = 500

/** Lists the processes of all services that answer now, in no particular order (`$SRV.STATS`). */
export async function listProcesses({ connection }: Nats): Promise<ListedProcess[]> {
  const options = { strategy: RequestStrategy.JitterTimer, maxWait: LIST_MS, jitter: LIST_PAUSE_MS }
  const found: ListedProcess[] = []
  for await (const stats of await connection.services.client(options).stats()) found.push(processOf(stats))
  return found
}

/** Every endpoint of a process reports the same statistics (serve.ts), so any one of them will do. */
function processOf({ name, id, version, started, endpoints = [] }: ServiceStats): ListedProcess {
  const stats = endpoints.map(({ data }) => data).find(isProcessStats)
  return { service: name, id, version, started: String(started), stats }
}

/** A process of another version may report something else, or nothing. */
function isProcessStats(value: unknown): value is ProcessStats {
  if (typeof value !== 'object' || value === null) return false
  const members: Partial<Record<string, unknown>> = { ...value }
  return ['calls', 'failed', 'working', 'seconds'].every((name) => typeof members[name] === 'number')
}
