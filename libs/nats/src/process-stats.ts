import { RequestStrategy, type ServiceStats } from 'nats'
import type { Nats } from './connect.ts'

/**
 * What a process says of itself in the statistics of NATS micro services: there a request is a message, which may carry many
 * calls, and none of them ever fails.
 */
export interface ProcessStats {
  /** Since the start. */
  readonly calls: number
  /** Of these, those that ended in a fault (`internal`) or with something away (`unavailable`). */
  readonly failed: number
  /** Under way. */
  readonly working: number
  /** All calls together. */
  readonly seconds: number
}

export interface ListedProcess {
  /** The name of its service. */
  readonly service: string
  /** Of this process, until it ends. */
  readonly id: string
  readonly version: string
  /** ISO date and time. */
  readonly started: string
  /** Undefined: it says nothing of itself. */
  readonly stats: ProcessStats | undefined
}

/** Answers come within this, or not at all; the last one is known by a pause. */
const LIST_MS = 2_000
const LIST_PAUSE_MS = 500

/** The processes of all services that answer now, in no order (`$SRV.STATS`). */
export async function listProcesses({ connection }: Nats): Promise<ListedProcess[]> {
  const options = { strategy: RequestStrategy.JitterTimer, maxWait: LIST_MS, jitter: LIST_PAUSE_MS }
  const found: ListedProcess[] = []
  for await (const stats of await connection.services.client(options).stats()) found.push(processOf(stats))
  return found
}

/** Every endpoint of a process says the same of it (serve.ts). */
function processOf({ name, id, version, started, endpoints = [] }: ServiceStats): ListedProcess {
  const stats = endpoints.map(({ data }) => data).find(isProcessStats)
  return { service: name, id, version, started: String(started), stats }
}

/** A process of another version may say something else, or nothing. */
function isProcessStats(value: unknown): value is ProcessStats {
  if (typeof value !== 'object' || value === null) return false
  const members: Partial<Record<string, unknown>> = { ...value }
  return ['calls', 'failed', 'working', 'seconds'].every((name) => typeof members[name] === 'number')
}
