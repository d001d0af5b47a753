/**
 * The resources for a rate of direct messages, computed from measured values. docs/operating/scale.md explains each line, so that readers can compute it by hand.
 */
import { DEFAULTS } from '@svc/contracts/limits.ts'
import {
  ID_BYTES,
  IDLE_STREAM,
  KEPT_DAYS,
  MEASURED,
  PAGES,
  POOLS,
  POSTGRES_PARTS,
  PRICES,
  PRIMARY,
  PROCESS_MIB,
  STORAGE,
  STREAMS_PER_GATEWAY,
  STREAMS_PER_PROCESS,
  TOUCHED,
  UPKEEP,
  UTILISATION,
} from './inputs.ts'

const SECONDS_PER_DAY = 86_400
const DAYS_PER_MONTH = 30
const HOURS_PER_MONTH = 24 * DAYS_PER_MONTH
const GB = 1e9
const TB = 1e12
/** Of every service in a cell. */
export const LEAST_PROCESSES = 2
export const NATS = { servers: 3, cores: 2 } as const

/** The services on a message's path. Each process uses one thread. */
export const SERVICES = ['gateway', 'identity', 'messaging', 'budget', 'webhook'] as const
type Service = (typeof SERVICES)[number]
/** Services beside that path. They have the least number of processes. */
export const OTHER_SERVICES = ['boards', 'stream'] as const

/** CPU milliseconds of each component for a message. Postgres also deletes and vacuums later. */
export function cpuMsOf(piece: Service | 'nats' | 'postgres'): number {
  return MEASURED.cpuMs[piece] + (piece === 'postgres' ? UPKEEP.ms : 0)
}

/** Messages per second that one core of a component handles at the planned load. */
export function perCore(piece: Service | 'nats' | 'postgres'): number {
  return (1_000 / cpuMsOf(piece)) * UTILISATION
}

/** What a primary does for each message. */
interface Share {
  readonly cpuMs: number
  readonly walBytes: number
  readonly pages: { readonly byMessage: number; readonly byAgent: number }
  /** Bytes of tables and indexes, times the days for which they are kept. The ids have a disk of their own. */
  readonly byteDays: number
}

const { messaging, others: rest } = TOUCHED
const MESSAGE_DAYS = (STORAGE.messages + STORAGE.entries) * KEPT_DAYS.messages
const OTHER_DAYS = STORAGE.reservations * KEPT_DAYS.reservations + STORAGE.nonces * KEPT_DAYS.nonces
const MESSAGING_PART = POSTGRES_PARTS.append + POSTGRES_PARTS.publish

/** A primary with all schemas. */
export const WHOLE: Share = {
  cpuMs: cpuMsOf('postgres'),
  walBytes: STORAGE.wal + UPKEEP.walBytes,
  pages: { byMessage: messaging.byMessage + rest.byMessage, byAgent: messaging.byAgent + rest.byAgent },
  byteDays: MESSAGE_DAYS + OTHER_DAYS,
}

/** A primary with the schema of messaging alone. All of the upkeep is counted, because it was measured together. */
export const MESSAGING: Share = {
  cpuMs: MEASURED.cpuMs.postgres * MESSAGING_PART + UPKEEP.ms,
  walBytes: STORAGE.wal * MESSAGING_PART + UPKEEP.walBytes,
  pages: messaging,
  byteDays: MESSAGE_DAYS,
}

/** Pages of agents that are written whole, each second, if all of them are active. */
const AGENT_PAGES_PER_SECOND = PAGES.activeAgents / PAGES.checkpointSeconds

/** Bytes of Postgres's log per second. */
export function logBytes({ walBytes, pages }: Share, perSecond: number): number {
  const byMessage = perSecond * (walBytes + pages.byMessage * PAGES.bytes)
  return byMessage + Math.min(perSecond, AGENT_PAGES_PER_SECOND) * pages.byAgent * PAGES.bytes
}

/** Messages per second that a primary carries, by the resource that runs out. */
export interface Limits {
  readonly cpu: number
  readonly log: number
  readonly disk: number
}

/** @param disks each with `PRIMARY.diskTb`, over which the partitions are spread. */
export function limitsOf({ cpuMs, walBytes, pages, byteDays }: Share, disks = 1): Limits {
  const logBudget = PRIMARY.logMbPerSecond * 1e6 * UTILISATION - AGENT_PAGES_PER_SECOND * pages.byAgent * PAGES.bytes
  return {
    cpu: (PRIMARY.cores * 1_000 * UTILISATION) / cpuMs,
    log: logBudget / (walBytes + pages.byMessage * PAGES.bytes),
    disk: (disks * PRIMARY.diskTb * TB * UTILISATION) / (byteDays * SECONDS_PER_DAY),
  }
}

/** The smallest of the limits, rounded down to hundreds. */
export function capacityOf(limits: Limits): number {
  return Math.floor(Math.min(...Object.values(limits)) / 100) * 100
}

/** The capacity of a cell is that of one primary with all schemas. */
function cellCapacity(): number {
  return capacityOf(limitsOf(WHOLE))
}

interface Plan {
  readonly perSecond: number
  readonly cells: number
  /** The sum of all cells, with at least `LEAST_PROCESSES` in each cell. */
  readonly processes: Readonly<Record<Service, number>>
  readonly natsServers: number
  readonly postgresCores: number
  /** To the primary of each cell, without those of open streams. */
  readonly connections: number
  readonly logMbPerSecond: number
  /** Tables with their indexes, for the period of retention. */
  readonly keptTb: number
  readonly streamTb: number
  /** Ids of all messages, which are kept for ever. */
  readonly idsTbPerYear: number
  /** Dollars for a million messages. */
  readonly cost: Readonly<Record<'services' | 'postgres' | 'storage' | 'network', number>>
}

export function planFor(perSecond: number): Plan {
  const cells = Math.ceil(perSecond / cellCapacity())
  const each = perSecond / cells
  const inCell = (service: Service): number => Math.max(LEAST_PROCESSES, Math.ceil(each / perCore(service)))
  const processes = Object.fromEntries(SERVICES.map((service) => [service, cells * inCell(service)]))
  const pooled = SERVICES.filter((service) => service !== 'gateway')
  const perDay = perSecond * SECONDS_PER_DAY
  const plan = {
    perSecond,
    cells,
    processes: processes as Record<Service, number>,
    natsServers: cells * NATS.servers,
    // Checkpoints, backups and caches that no longer hold everything need CPU that no benchmark has measured.
    postgresCores: cells * Math.max(PRIMARY.leastCores, Math.ceil(each / perCore('postgres'))),
    connections:
      pooled.reduce((sum, service) => sum + inCell(service) * POOLS[service], 0) +
      OTHER_SERVICES.reduce((sum, service) => sum + LEAST_PROCESSES * POOLS[service], 0),
    logMbPerSecond: (logBytes(WHOLE, each) * cells) / 1e6,
    keptTb: (WHOLE.byteDays * perDay) / TB,
    streamTb: (STORAGE.stream * NATS.servers * perDay * KEPT_DAYS.stream) / TB,
    idsTbPerYear: (ID_BYTES * perDay * 365) / TB,
  }
  return { ...plan, cost: costOf(plan) }
}

function costOf(plan: Omit<Plan, 'cost'>): Plan['cost'] {
  const millions = (plan.perSecond * SECONDS_PER_DAY * DAYS_PER_MONTH) / 1e6
  const others = plan.cells * LEAST_PROCESSES * OTHER_SERVICES.length
  const processes = Object.values(plan.processes).reduce((sum, count) => sum + count, others)
  // One core for each process.
  const coreHours = (processes + plan.natsServers * NATS.cores) * HOURS_PER_MONTH
  // Twice: a primary and its standby. The ids are those of the first year.
  const gb = ((plan.keptTb + plan.idsTbPerYear) * 2 * TB + plan.streamTb * TB) / GB
  // Between zones: the log once, to the standby, and the envelope three times, between services.
  const crossGb = (plan.logMbPerSecond * 1e6) / plan.perSecond / 1e3 + (3 * STORAGE.stream) / 1e3
  return {
    services: (coreHours * PRICES.coreHour) / millions,
    postgres: (plan.postgresCores * HOURS_PER_MONTH * PRICES.postgresCoreHour) / millions,
    storage: (gb * PRICES.ssdGbMonth) / millions,
    network: crossGb * PRICES.crossZoneGb + (STORAGE.stream / 1e3) * PRICES.egressGb,
  }
}

interface StreamPlan {
  readonly streams: number
  readonly streamProcesses: number
  readonly gatewayProcesses: number
  readonly memoryGib: number
  /** Busy cores of all processes, Postgres and NATS. */
  readonly cores: number
  readonly connections: number
}

/** The resources that open streams need, besides their messages. */
export function planStreams(streams: number): StreamPlan {
  const streamProcesses = Math.ceil(streams / STREAMS_PER_PROCESS)
  const gatewayProcesses = Math.ceil(streams / STREAMS_PER_GATEWAY)
  const mib = (streamProcesses + gatewayProcesses) * PROCESS_MIB
  const kib = streams * (IDLE_STREAM.streamKib + IDLE_STREAM.gatewayKib)
  const openCores = streams * (IDLE_STREAM.percent / 100 / IDLE_STREAM.streams)
  const reopenCores = (streams / DEFAULTS.streamSeconds) * (IDLE_STREAM.openMs / 1_000)
  return {
    streams,
    streamProcesses,
    gatewayProcesses,
    memoryGib: mib / 1_024 + kib / 1_024 / 1_024,
    cores: openCores + reopenCores,
    connections: streamProcesses * POOLS.stream,
  }
}
