/** The tables of docs/operating/scale.md. */

import { ID_BYTES, KEPT_DAYS, MEASURED, PRIMARY, STORAGE, STREAMS_PER_PROCESS } from './inputs.ts'
import { cellCapacity, perCore, planFor, planStreams, primaryLimits, SERVICES } from './plan.ts'
import { type Outcome, type Setting, simulate } from './system.ts'

export const RATES = [1_000, 100_000, 10_000_000] as const

const ONE_EACH = { gateway: 1, identity: 1, messaging: 1, budget: 1, webhook: 1 } as const
const SECONDS = 6
const SEED = 20_261_120

/** The settings of `npx pnpm bench send`. */
export const AS_MEASURED: Setting = {
  cores: MEASURED.cores,
  processes: ONE_EACH,
  load: { clients: MEASURED.connections },
  seconds: SECONDS,
  seed: SEED,
}

/** A cell on separate machines, with enough processes for its capacity. */
export const CELL: Omit<Setting, 'load'> = {
  cores: 8,
  processes: { gateway: 2, identity: 2, messaging: 2, budget: 2, webhook: 2 },
  seconds: SECONDS,
  seed: SEED,
}

/** All tables, by the name of their place in the page. */
export function renderTables(): Record<string, string> {
  return {
    units: units(),
    storage: storage(),
    primary: primary(),
    measured: measured(),
    cell: cell(),
    plans: plans(),
    streams: streams(),
  }
}

/**
 * The page with every table replaced between its marks.
 * @throws Error if a table has no place.
 */
export function fillPage(page: string, tables: Readonly<Record<string, string>>): string {
  return Object.entries(tables).reduce((text, [name, table]) => {
    const place = new RegExp(`(<!-- table: ${name} -->\n)[\\s\\S]*?(<!-- end -->)`)
    if (!place.test(text)) throw new Error(`the page has no place for the table ${name}`)
    return text.replace(place, (_, begin: string, end: string) => `${begin}\n${table}\n\n${end}`)
  }, page)
}

function units(): string {
  const limits: Record<(typeof SERVICES)[number] | 'nats' | 'postgres', string> = {
    gateway: 'one thread to a process; any number of processes',
    identity: 'the same; commits of nonces',
    messaging: 'the same; commits of appends',
    budget: 'the same; an agent is charged for one batch at a time',
    webhook: 'the same; a TLS handshake for each delivery is not in this figure',
    nats: 'one server for core messages; the disk of the stream’s leader',
    postgres: 'one primary: below',
  }
  const rows = [...SERVICES, 'nats' as const, 'postgres' as const].map((piece) => [
    piece,
    MEASURED.cpuMs[piece].toFixed(3),
    whole(perCore(piece)),
    limits[piece],
  ])
  return table(['piece', 'CPU ms for each message', 'messages/s on a core', 'what limits it'], rows)
}

function storage(): string {
  const kept = (days: number): string => {
    if (days >= 2) return `${days} days`
    return days >= 1 ? `${days * 24} hours` : `${days * 24 * 60} minutes`
  }
  const rows = [
    ['messaging: the message', kept(KEPT_DAYS.messages), STORAGE.messages],
    ['messaging: its entry in the log of its recipient', kept(KEPT_DAYS.messages), STORAGE.entries],
    ['messaging: its id', 'for ever', ID_BYTES],
    ['messaging: the outbox', kept(KEPT_DAYS.outbox), STORAGE.outbox],
    ['budget: its reservation', kept(KEPT_DAYS.reservations), STORAGE.reservations],
    ['identity: its nonce', kept(KEPT_DAYS.nonces), STORAGE.nonces],
    ['NATS: each copy of the stream', kept(KEPT_DAYS.stream), STORAGE.stream],
    ['the log of Postgres', 'until it is archived', STORAGE.wal],
  ] as const
  return table(
    ['where', 'kept for', 'bytes, with indexes'],
    rows.map(([where, time, bytes]) => [where, time, whole(bytes)]),
  )
}

function primary(): string {
  const rows = primaryLimits().map(({ what, perSecond }) => [what, whole(perSecond)])
  return table(
    ['of one primary with all schemas', 'messages/s'],
    [...rows, ['**a cell**', `**${whole(cellCapacity())}**`]],
  )
}

function measured(): string {
  const found = simulate(AS_MEASURED)
  const cpu = Object.values(MEASURED.cpuMs).reduce((sum, ms) => sum + ms, 0)
  return table(
    [`${MEASURED.connections} connections on ${MEASURED.cores} cores`, 'measured', 'simulated'],
    [
      ['accepted/s', whole(MEASURED.acceptedPerSecond), whole(found.acceptedPerSecond)],
      ['CPU ms for each message', cpu.toFixed(2), found.cpuMs.toFixed(2)],
      [
        'mean ms (Little: connections / rate)',
        ((MEASURED.connections / MEASURED.acceptedPerSecond) * 1_000).toFixed(1),
        found.meanMs.toFixed(1),
      ],
      ['p50, p99 ms', '', `${found.p50Ms.toFixed(1)}, ${found.p99Ms.toFixed(1)}`],
      [
        'mean batch: nonces, reservations, appends',
        '',
        Object.values(found.batches)
          .map((size) => size.toFixed(1))
          .join(', '),
      ],
    ],
  )
}

function cell(): string {
  const capacity = cellCapacity()
  const loads = [0.1, 0.25, 0.5, 1, 1.5, 2].map((share) => ({ share, outcome: atLoad(capacity * share) }))
  const rows = loads.map(({ share, outcome }) => [
    `${share * 100} %`,
    whole(capacity * share),
    outcome.p50Ms.toFixed(1),
    outcome.p99Ms.toFixed(1),
    `${(outcome.utilisation * 100).toFixed(0)} %`,
    outcome.cpuMs.toFixed(2),
    Object.values(outcome.batches)
      .map((size) => size.toFixed(1))
      .join(', '),
  ])
  return table(
    [
      'of a cell’s capacity',
      'messages/s',
      'p50 ms',
      'p99 ms',
      `of ${CELL.cores} cores`,
      'CPU ms each',
      'batches: nonces, reservations, appends',
    ],
    rows,
  )
}

export function atLoad(perSecond: number): Outcome {
  return simulate({ ...CELL, load: { perSecond } })
}

function plans(): string {
  const all = RATES.map(planFor)
  const row = (name: string, of: (plan: (typeof all)[number]) => string): string[] => [name, ...all.map(of)]
  return table(
    ['messages/s', ...RATES.map(whole)],
    [
      row('cells', ({ cells }) => whole(cells)),
      ...SERVICES.map((service) => row(`processes of ${service}`, ({ processes }) => whole(processes[service]))),
      row('NATS servers, three to a cell', ({ natsServers }) => whole(natsServers)),
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

function streams(): string {
  const rows = [10_000, 1_000_000, 100_000_000]
    .map(planStreams)
    .map((plan) => [
      whole(plan.streams),
      whole(plan.streamProcesses),
      whole(plan.gatewayProcesses),
      figure(plan.memoryGib),
    ])
  return table(
    [
      'open streams',
      `processes of stream, ${STREAMS_PER_PROCESS} streams each`,
      'of gateway, besides requests',
      'memory, GiB',
    ],
    rows,
  )
}

/** Formats the page with the repository's formatter. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows]
  const widths = head.map((_, at) => Math.max(3, ...all.map((row) => (row[at] ?? '').length)))
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((width, at) => (cells[at] ?? '').padEnd(width)).join(' | ')} |`
  return [line(head), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...rows.map(line)].join('\n')
}

function whole(value: number): string {
  return Math.round(value)
    .toString()
    .replaceAll(/\B(?=(\d{3})+$)/g, ',')
}

function figure(value: number): string {
  return value >= 100 ? whole(value) : value.toPrecision(2)
}
