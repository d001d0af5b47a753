/** The tables of docs/operating/scale.md that are arithmetic: what one unit carries, what limits it, and the plans. */

import { DEFAULTS } from '@svc/contracts/limits.ts'
import {
  HOT,
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
  UPKEEP,
  UTILISATION,
} from './inputs.ts'
import {
  capacityOf,
  cpuMsOf,
  LEAST_PROCESSES,
  type Limits,
  limitsOf,
  MESSAGING,
  NATS,
  OTHER_SERVICES,
  perCore,
  planFor,
  planStreams,
  SERVICES,
  WHOLE,
} from './plan.ts'
import { figure, table, whole } from './table-format.ts'

export const RATES = [1_000, 100_000, 10_000_000] as const

export function units(): string {
  const limits: Record<(typeof SERVICES)[number] | 'nats', string> = {
    gateway: 'one thread to a process; any number of processes',
    identity: 'the same; commits of nonces',
    messaging: 'the same; commits of appends',
    budget: 'the same; an agent is charged for one batch at a time',
    webhook: 'the same; a TLS handshake for each delivery is not in this figure',
    nats: 'one server for core messages; the disk of the stream’s leader',
  }
  const rows = [...SERVICES, 'nats' as const].map((piece) => [
    piece,
    cpuMsOf(piece).toFixed(3),
    whole(perCore(piece)),
    limits[piece],
  ])
  rows.push(
    ['postgres, at once', MEASURED.cpuMs.postgres.toFixed(3), '', 'commits'],
    ['postgres, later', UPKEEP.ms.toFixed(3), '', 'vacuum'],
    ['postgres in all', cpuMsOf('postgres').toFixed(3), whole(perCore('postgres')), 'one primary: below'],
  )
  return table(['piece', 'CPU ms for each message', 'messages/s on a core', 'what limits it'], rows)
}

export function storage(): string {
  const kept = (days: number): string => {
    if (days >= 2) return `${days} days`
    return days >= 1 ? `${days * 24} hours` : `${days * 24 * 60} minutes`
  }
  const rows = [
    ['messaging: the message', kept(KEPT_DAYS.messages), STORAGE.messages],
    ['messaging: its entry in the log of its recipient', kept(KEPT_DAYS.messages), STORAGE.entries],
    ['messaging: its id', 'for ever', ID_BYTES],
    ['budget: its reservation', kept(KEPT_DAYS.reservations), STORAGE.reservations],
    ['identity: its nonce', kept(KEPT_DAYS.nonces), STORAGE.nonces],
    ['NATS: each copy of the stream', kept(KEPT_DAYS.stream), STORAGE.stream],
    ['the log of Postgres', 'until it is archived', STORAGE.wal],
    ['the log of Postgres, when tables are vacuumed later', 'until it is archived', UPKEEP.walBytes],
  ] as const
  return table(
    ['where', 'kept for', 'bytes, with indexes'],
    rows.map(([where, time, bytes]) => [where, time, whole(bytes)]),
  )
}

/** Every input of the plans that no benchmark measures. */
export function assumed(): string {
  const { append, publish } = POSTGRES_PARTS
  return table(
    ['assumed', 'value'],
    [
      ['planned load of a core, a disk and the log', `${UTILISATION * 100} %`],
      [
        'a primary',
        `${PRIMARY.cores} cores (${PRIMARY.leastCores} at least), ${PRIMARY.logMbPerSecond} MB/s of log, a disk of ${PRIMARY.diskTb} TB, another of ${PRIMARY.idsDiskTb} TB for the ids`,
      ],
      ['messaging’s part of the CPU and the log of Postgres', `${((append + publish) * 100).toFixed(0)} %`],
      ['from one checkpoint to the next', `${PAGES.checkpointSeconds} s (the default of Postgres)`],
      ['agents of a cell that are active between two checkpoints', whole(PAGES.activeAgents)],
      [
        'a page of Postgres, which the log gets whole when it changes first after a checkpoint',
        `${whole(PAGES.bytes)} bytes`,
      ],
      [
        'pages for each message; for each active agent',
        `${WHOLE.pages.byMessage}; ${WHOLE.pages.byAgent}. Of messaging: ${MESSAGING.pages.byMessage}; ${MESSAGING.pages.byAgent}`,
      ],
      ['in a cell', `${LEAST_PROCESSES} processes of each service at least, ${NATS.servers} NATS servers`],
      ['cores of a process; of a NATS server', `1; ${NATS.cores}`],
      ['streams of a gateway process', whole(STREAMS_PER_GATEWAY)],
      ['memory of an idle process', `${PROCESS_MIB} MiB`],
      ['a core for an hour; with Postgres and its standby', `$${PRICES.coreHour}; $${PRICES.postgresCoreHour}`],
      ['a GB of disk for 30 days', `$${PRICES.ssdGbMonth}`],
      ['a GB between zones; to the internet', `$${PRICES.crossZoneGb}; $${PRICES.egressGb}`],
    ],
  )
}

export function splits(): string {
  const row = (step: string, limits: Limits): string[] => [
    step,
    ...[limits.cpu, limits.log, limits.disk].map(whole),
    whole(capacityOf(limits)),
  ]
  return table(
    ['messages/s by', 'CPU', 'log', 'disk', 'a cell carries'],
    [
      row('one primary for all schemas', limitsOf(WHOLE)),
      row('messaging on a primary of its own', limitsOf(MESSAGING)),
      row('and its partitions on 2 disks', limitsOf(MESSAGING, 2)),
      row('on 4 disks', limitsOf(MESSAGING, 4)),
    ],
  )
}

/** This gateway and `MAX_OTHERS` in services/gateway/src/rates/gateways.ts. */
const MAX_GATEWAYS = 256
/** Of a burst: all gateways together admit 1.2 bursts at most (spec 3.15). */
const CREDIT_SHARE = 0.2

export function meeting(): string {
  const { rateBurst } = DEFAULTS
  // All other gateways share this credit, and each needs at least one request of it.
  const withCredit = Math.floor(rateBurst * CREDIT_SHARE) + 1
  const of = (perSecond: number): string => `${whole(perSecond)}/s; spread over all agents ${whole(HOT.spread)}/s`
  return table(
    ['what meets', 'where', 'bound', 'past it'],
    [
      [
        'messages to one agent',
        'the row of its log, locked until the commit',
        of(HOT.oneRecipient),
        'nothing: an agent has one order of events. Its webhook and its two streams are slower',
      ],
      [
        'messages of one agent',
        'the row of its account: each reservation waits for the commit of the one before',
        of(HOT.oneSender),
        'nothing: by default it may spend 1,000 units a day',
      ],
      [
        'appends of a messaging process',
        'one batch of up to 128 at a time. It waits for a locked log for 100 ms at most',
        `${whole(perCore('messaging'))}/s for each process`,
        'more processes (ADR 14)',
      ],
      [
        'boards created',
        'the row of `boards.clock`, locked until the commit',
        `${whole(HOT.boards)} boards/s`,
        `cells, each with a clock of its own. One is enough for ${whole((HOT.boards * 86_400) / 1e6)} million boards a day`,
      ],
      [
        'events',
        'the stream `ACCEPTED`: one leader writes them in order',
        `${whole(HOT.published)} events/s of one publisher, with NATS on one core`,
        'cells; in a cell, streams by a hash of the agent',
      ],
      [
        'inbox events for webhooks',
        'the consumer `webhook`, which all processes share',
        `${whole(HOT.taken)} events/s of one process, with NATS on one core`,
        'more processes; then a consumer for each stream',
      ],
      [
        'webhooks compared with logs',
        'one process at a time (`webhook.reconciliation`)',
        '5,000 agents for each call, one call after the other',
        'a slower round delays only what JetStream lost',
      ],
      [
        'rates of clients',
        'every gateway knows every other one',
        `${MAX_GATEWAYS} gateways. Past ${withCredit}, a burst of ${rateBurst} leaves no credit, and a request waits for its keeper`,
        'cells: only the gateways of one edge share',
      ],
      [
        'a partition that is emptied',
        'the lock of its table, for which all senders wait',
        '200 ms for each of three tables, every 5 days',
        'nothing: without the lock, the purge tries again after a thousandth of the retention (43 minutes)',
      ],
    ],
  )
}

export function plans(): string {
  const all = RATES.map(planFor)
  const row = (name: string, of: (plan: (typeof all)[number]) => string): string[] => [name, ...all.map(of)]
  return table(
    ['messages/s', ...RATES.map(whole)],
    [
      row('cells', ({ cells }) => whole(cells)),
      ...SERVICES.map((service) => row(`processes of ${service}`, ({ processes }) => whole(processes[service]))),
      ...OTHER_SERVICES.map((service) => row(`processes of ${service}`, ({ cells }) => whole(cells * LEAST_PROCESSES))),
      row('NATS servers, three to a cell', ({ natsServers }) => whole(natsServers)),
      row('connections to each primary', ({ connections }) => whole(connections)),
      row('cores of Postgres primaries', ({ postgresCores }) => whole(postgresCores)),
      row('log of Postgres, MB/s', ({ logMbPerSecond }) => figure(logMbPerSecond)),
      row('tables, TB', ({ keptTb }) => figure(keptTb)),
      row('streams, three copies, TB', ({ streamTb }) => figure(streamTb)),
      row('ids for ever, TB a year', ({ idsTbPerYear }) => figure(idsTbPerYear)),
      row(`years until the ids fill ${PRIMARY.idsDiskTb} TB in each cell`, (plan) =>
        figure((PRIMARY.idsDiskTb * plan.cells) / plan.idsTbPerYear),
      ),
      row('$ for a million: services', ({ cost }) => cost.services.toFixed(3)),
      row('$ for a million: Postgres', ({ cost }) => cost.postgres.toFixed(3)),
      row('$ for a million: storage', ({ cost }) => cost.storage.toFixed(3)),
      row('$ for a million: network', ({ cost }) => cost.network.toFixed(3)),
      row(
        '**$ for a million**',
        ({ cost }) =>
          `**${Object.values(cost)
            .reduce((sum, each) => sum + each, 0)
            .toFixed(2)}**`,
      ),
    ],
  )
}

export function streams(): string {
  const rows = [10_000, 1_000_000, 100_000_000]
    .map(planStreams)
    .map((plan) => [
      whole(plan.streams),
      whole(plan.streamProcesses),
      whole(plan.gatewayProcesses),
      figure(plan.memoryGib),
      figure(plan.cores),
      whole(plan.connections),
    ])
  return table(
    [
      'open streams',
      `processes of stream, ${STREAMS_PER_PROCESS} streams each`,
      'of gateway, besides requests',
      'memory, GiB',
      'busy cores',
      `connections to Postgres, ${POOLS.stream} each`,
    ],
    rows,
  )
}

export function streamUnit(): string {
  const { streamKib, gatewayKib, percent, streams: count, openMs } = IDLE_STREAM
  return table(
    ['an idle stream', ''],
    [
      ['memory in its stream process; in its gateway', `${streamKib} KiB; ${gatewayKib} KiB`],
      [`CPU of ${whole(count)} streams: leases, heads and heartbeats`, `${percent.toFixed(1)} % of a core`],
      [`CPU each time it opens, every ${DEFAULTS.streamSeconds} s`, `${openMs.toFixed(1)} ms`],
    ],
  )
}
