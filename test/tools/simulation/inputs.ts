/** Measured values, values computed from the schema, and assumptions. All figures of docs/operating/scale.md are computed from these. */

import measured from './measured.json' with { type: 'json' }

/** `npx pnpm bench send --record`: CPU for each accepted direct message, by component. The generator ran on the same cores. */
export const MEASURED = measured.send

/** `npx pnpm bench storage --record`: bytes for each direct message with a body of about 100 bytes, tables with their indexes. */
export const STORAGE = {
  messages: measured.storage.tables['messaging.messages'],
  entries: measured.storage.tables['messaging.entries'],
  reservations: measured.storage.tables['budget.reservations'],
  nonces: measured.storage.tables['identity.nonces'],
  wal: measured.storage.wal,
  stream: measured.storage.stream,
} as const

/**
 * `npx pnpm bench storage --record`: what Postgres does for a message later, when it vacuums tables.
 * Partitions are truncated, which costs nothing for each message.
 */
export const UPKEEP = { ms: measured.storage.upkeepMs, walBytes: measured.storage.upkeepWal } as const

/**
 * The first change of a page after a checkpoint writes the whole page to the log. In a small database, as in the benchmark,
 * messages share pages. In a large one, each index whose keys come in no order costs a page for each message, and each row or
 * index that is ordered by agent costs a page for each agent that is active between two checkpoints.
 */
export const PAGES = {
  bytes: 8_192,
  /** The default of Postgres. */
  checkpointSeconds: 300,
  /** An assumption. */
  activeAgents: 100_000,
} as const

/** Pages that a message touches (PAGES): for each message, or for each active agent. Source: the tables and indexes of each schema. */
export const TOUCHED = {
  messaging: {
    /** ids_pkey */
    byMessage: 1,
    /** The row of logs; messages_sent, messages_received, messages_unacked, entries_log. */
    byAgent: 5,
  },
  others: {
    /** reservations_operation. The table of the nonces is so small that messages share its pages. */
    byMessage: 1,
    /** The row of budget.accounts. */
    byAgent: 1,
  },
} as const

/**
 * Bytes of each message that are kept for ever, with their index entry (ADR 29), as measured by
 * services/messaging/test/operate/ids.test.ts.
 */
export const ID_BYTES = 101

/**
 * How long rows are kept, in days (README of each service). Expired messages are deleted at the end of their partition's
 * period, which is a sixth of the retention: on average they wait for half a period. Reservations are kept for 25 hours, and on
 * average for half of the 15 hours of their partition.
 */
export const KEPT_DAYS = { messages: 32.5, reservations: 32.5 / 24, nonces: 30 / 1_440, stream: 1 } as const

/**
 * The share of each transaction in Postgres's CPU and log. An assumption: proportional to the rows and index entries that the
 * transaction writes.
 */
export const POSTGRES_PARTS = { nonce: 0.16, reserve: 0.27, settle: 0.12, append: 0.37, publish: 0.08 } as const

/** The planned load of a process or a primary, which leaves room for an hour's peak and the loss of a replica. */
export const UTILISATION = 0.6

/** Public list prices of a large provider in US dollars, rounded, as assumed in November 2026. */
export const PRICES = {
  coreHour: 0.045,
  /** A managed primary with a synchronous standby, so two machines. */
  postgresCoreHour: 0.18,
  ssdGbMonth: 0.115,
  crossZoneGb: 0.02,
  egressGb: 0.06,
} as const

/** The limit of spec 11.7. */
export const STREAMS_PER_PROCESS = 200
/** `npx pnpm bench idle --record`: the cost of an idle stream, over all processes. */
export const IDLE_STREAM = {
  streamKib: measured.idle.streamKib,
  gatewayKib: measured.idle.gatewayKib,
  /** Percent of a core for all streams of the benchmark. */
  percent: measured.idle.heartbeatsPercent + measured.idle.leasesAndHeadsPercent,
  streams: measured.idle.streams,
  /** CPU milliseconds each time it is opened, every `DEFAULTS.streamSeconds`. */
  openMs: measured.idle.openMs,
} as const
/** A Node process with an idle service: an assumption. */
export const PROCESS_MIB = 90
/** Streams that one gateway process carries besides its requests: an assumption, about a GiB. */
export const STREAMS_PER_GATEWAY = 10_000

/** `SVC_DATABASE_POOL` of each process, as in docs/operating/scale.md (a test computes that table from the manifests). */
export const POOLS = { identity: 8, messaging: 8, budget: 8, boards: 8, webhook: 8, stream: 4 } as const

/** `npx pnpm bench hot --record`: the rates of hot spots, such as one agent's log. */
export const HOT = measured.hot

/** A primary of a size that many platforms offer, with a second disk for the ids that are kept for ever. An assumption. */
export const PRIMARY = { cores: 16, leastCores: 4, diskTb: 16, idsDiskTb: 16, logMbPerSecond: 250 } as const
