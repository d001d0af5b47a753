import type { Msg, ServiceStats } from 'nats'
import type { Nats } from './connect.ts'
import { calleeOf, openInbox } from './wire/inbox.ts'

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
const LIST_PAUSE_MS = 300

/**
 * Lists the processes of these services that answer now, in no particular order. Asks each service by its name
 * (`$SRV.STATS.<service>`), so that no service can answer in place of another (wire/inbox.ts).
 */
export async function listProcesses(nats: Nats, services: readonly string[]): Promise<ListedProcess[]> {
  const { connection } = nats
  const inbox = openInbox(nats)
  const found: ListedProcess[] = []
  const { promise: over, resolve: end } = Promise.withResolvers<void>()
  let timer = setTimeout(end, LIST_MS)
  const lastMs = performance.now() + LIST_MS
  const hear = (_error: Error | null, message: Msg): void => {
    const process = processOf(message)
    if (process === undefined) return
    found.push(process)
    clearTimeout(timer)
    timer = setTimeout(end, Math.min(LIST_PAUSE_MS, lastMs - performance.now()))
  }
  const subscription = connection.subscribe(inbox.pattern, { callback: hear })
  try {
    for (const service of services) connection.publish(`$SRV.STATS.${service}`, '', { reply: inbox.replyFrom(service) })
    await over
  } finally {
    clearTimeout(timer)
    subscription.unsubscribe()
  }
  return found
}

/**
 * Every endpoint of a process reports the same statistics (serve.ts), so any one of them will do.
 * @returns undefined if nobody listens, or if the answer does not have the form of NATS micro services.
 */
function processOf(message: Msg): ListedProcess | undefined {
  const stats = parse(message)
  if (stats === undefined) return undefined
  const { name, id, version, started, endpoints } = stats
  const isOwn = name === calleeOf(message.subject)
  if (!isOwn || typeof id !== 'string' || typeof version !== 'string' || !Array.isArray(endpoints)) return undefined
  return { service: name, id, version, started: String(started), stats: endpoints.map(dataOf).find(isProcessStats) }
}

function parse(message: Msg): Partial<Record<keyof ServiceStats, unknown>> | undefined {
  try {
    const value = message.json()
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

function dataOf(endpoint: unknown): unknown {
  return typeof endpoint === 'object' && endpoint !== null && 'data' in endpoint ? endpoint.data : undefined
}

/** A process of another version may report something else, or nothing. */
function isProcessStats(value: unknown): value is ProcessStats {
  if (typeof value !== 'object' || value === null) return false
  const members: Partial<Record<string, unknown>> = { ...value }
  return ['calls', 'failed', 'working', 'seconds'].every((name) => typeof members[name] === 'number')
}
