/** The tables of docs/operating/scale.md. */

import { MEASURED } from './inputs.ts'
import { cellCapacity } from './plan.ts'
import { assumed, meeting, plans, splits, storage, streams, streamUnit, units } from './plan-tables.ts'
import { type Outcome, type Setting, simulate } from './system.ts'
import { table, whole } from './table-format.ts'

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
    assumed: assumed(),
    splits: splits(),
    meeting: meeting(),
    measured: measured(),
    cell: cell(),
    plans: plans(),
    'stream-unit': streamUnit(),
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
