/** The resources that a rate of direct messages needs, computed from measured values. Nothing is simulated here. */
import {
  ID_BYTES,
  KEPT_DAYS,
  MEASURED,
  PRICES,
  PRIMARY,
  PROCESS_MIB,
  STORAGE,
  STREAM_KIB,
  STREAMS_PER_GATEWAY,
  STREAMS_PER_PROCESS,
  UTILISATION,
} from './inputs.ts'

const SECONDS_PER_DAY = 86_400
const DAYS_PER_MONTH = 30
const HOURS_PER_MONTH = 730
const GB = 1e9
const TB = 1e12

/** The services on a message's path. Each process uses one thread. */
export const SERVICES = ['gateway', 'identity', 'messaging', 'budget', 'webhook'] as const
type Service = (typeof SERVICES)[number]

/** Messages per second that one core of a component handles at the planned load. */
export function perCore(piece: Service | 'nats' | 'postgres'): number {
  return (1_000 / MEASURED.cpuMs[piece]) * UTILISATION
}

interface PrimaryLimit {
  readonly what: string
  readonly perSecond: number
}

/** The capacity of one primary with all schemas, set by the resource that runs out first. */
export function primaryLimits(): PrimaryLimit[] {
  const keptBytes = (STORAGE.messages + STORAGE.entries) * KEPT_DAYS.messages * SECONDS_PER_DAY
  return [
    { what: `CPU: ${PRIMARY.cores} cores`, perSecond: perCore('postgres') * PRIMARY.cores },
    {
      what: `its log: ${PRIMARY.logMbPerSecond} MB/s`,
      perSecond: (PRIMARY.logMbPerSecond * 1e6 * UTILISATION) / STORAGE.wal,
    },
    {
      what: `${KEPT_DAYS.messages} days of messages on ${PRIMARY.diskTb} TB`,
      perSecond: (PRIMARY.diskTb * TB * UTILISATION) / keptBytes,
    },
  ]
}

/** The capacity of a cell is its primary's capacity, rounded down to a simple number. */
export function cellCapacity(): number {
  const least = Math.min(...primaryLimits().map(({ perSecond }) => perSecond))
  return Math.floor(least / 500) * 500
}

interface Plan {
  readonly perSecond: number
  readonly cells: number
  /** The sum over all cells. Each cell has at least two. */
  readonly processes: Readonly<Record<Service, number>>
  readonly natsServers: number
  readonly postgresCores: number
  readonly logMbPerSecond: number
  /** Tables with their indexes, for the period of retention. */
  readonly keptTb: number
  readonly streamTb: number
  /** Ids of expired messages, which are kept for ever. */
  readonly idsTbPerYear: number
  /** Dollars for a million messages. */
  readonly cost: Readonly<Record<'services' | 'postgres' | 'storage' | 'network', number>>
}

export function planFor(perSecond: number): Plan {
  const cells = Math.ceil(perSecond / cellCapacity())
  const each = perSecond / cells
  const processes = Object.fromEntries(
    SERVICES.map((service) => [service, cells * Math.max(2, Math.ceil(each / perCore(service)))]),
  ) as Record<Service, number>
  const natsServers = cells * 3
  // A primary has at least four cores, because a message's cost does not include checkpoints, vacuum and backups.
  const postgresCores = cells * Math.max(4, Math.ceil(each / perCore('postgres')))
  const keptBytes =
    (STORAGE.messages + STORAGE.entries) * KEPT_DAYS.messages +
    STORAGE.outbox * KEPT_DAYS.outbox +
    STORAGE.reservations * KEPT_DAYS.reservations +
    STORAGE.nonces * KEPT_DAYS.nonces
  const perDay = perSecond * SECONDS_PER_DAY
  const keptTb = (keptBytes * perDay) / TB
  const idsTbPerYear = (ID_BYTES * perDay * 365) / TB
  const streamTb = (STORAGE.stream * 3 * perDay * KEPT_DAYS.stream) / TB
  return {
    perSecond,
    cells,
    processes,
    natsServers,
    postgresCores,
    logMbPerSecond: (STORAGE.wal * perSecond) / 1e6,
    keptTb,
    streamTb,
    idsTbPerYear,
    cost: costOf({ perSecond, processes, natsServers, postgresCores, keptTb, streamTb, idsTbPerYear }),
  }
}

function costOf(
  plan: Pick<
    Plan,
    'perSecond' | 'processes' | 'natsServers' | 'postgresCores' | 'keptTb' | 'streamTb' | 'idsTbPerYear'
  >,
) {
  const millions = (plan.perSecond * SECONDS_PER_DAY * DAYS_PER_MONTH) / 1e6
  const processes = Object.values(plan.processes).reduce((sum, count) => sum + count, 0)
  // A process has one core, a NATS server two.
  const coreHours = (processes + plan.natsServers * 2) * HOURS_PER_MONTH
  // Counted twice, for a primary and its standby. The ids are those of the first year.
  const gb = ((plan.keptTb + plan.idsTbPerYear) * 2 * TB + plan.streamTb * TB) / GB
  // Each message crosses zones about four times: in the log to the standby, and as an envelope between services.
  const crossGb = (1e6 * (STORAGE.wal + 3 * STORAGE.stream)) / GB
  return {
    services: (coreHours * PRICES.coreHour) / millions,
    postgres: (plan.postgresCores * HOURS_PER_MONTH * PRICES.postgresCoreHour) / millions,
    storage: (gb * PRICES.ssdGbMonth) / millions,
    network: crossGb * PRICES.crossZoneGb + ((1e6 * STORAGE.stream) / GB) * PRICES.egressGb,
  }
}

interface StreamPlan {
  readonly streams: number
  readonly streamProcesses: number
  readonly gatewayProcesses: number
  readonly memoryGib: number
}

/** The resources that open streams need, besides their messages. */
export function planStreams(streams: number): StreamPlan {
  const streamProcesses = Math.ceil(streams / STREAMS_PER_PROCESS)
  const gatewayProcesses = Math.ceil(streams / STREAMS_PER_GATEWAY)
  const mib = (streamProcesses + gatewayProcesses) * PROCESS_MIB
  const kib = streams * (STREAM_KIB.stream + STREAM_KIB.gateway)
  return { streams, streamProcesses, gatewayProcesses, memoryGib: mib / 1_024 + kib / 1_024 / 1_024 }
}
