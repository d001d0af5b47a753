/**
 * `npx pnpm faults [--minutes 60] [--seed <n>]`: injects faults while agents use the system, for as long as you like.
 * Prints operations, faults and violations, and fails if there is a violation.
 */
import { randomInt } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { readCommandLine } from '../support/run/command-line.ts'
import { type RoundReport, runCampaign } from './campaign.ts'
import { chartOfRound } from './chart.ts'
import { readHistory } from './history/history.ts'
import { FAILPOINTS } from './nemesis/failpoints.ts'
import { failpoint, failpointAmong } from './nemesis/faults/failpoint.ts'
import { FAULTS } from './nemesis/kinds.ts'

const { values } = readCommandLine({
  command: 'npx pnpm faults',
  does: 'Injects faults during rounds of work and checks each round. Fails if there is a violation.',
  options: {
    minutes: { kind: 'number', default: 5, what: 'starts new rounds for this long' },
    seed: { kind: 'number', whole: true, what: 'repeats the random choices of the run with this seed' },
    actors: { kind: 'number', whole: true, min: 1, default: 14, what: 'agents in a round' },
    'round-seconds': { kind: 'number', min: 1, default: 45, what: 'how long the agents of a round act' },
    faults: { kind: 'list', of: FAULTS.map(({ name }) => name), what: 'kinds of faults; default: all' },
    chart: { kind: 'text', placeholder: 'file', what: 'writes an SVG chart of the first round to this file' },
    calm: { kind: 'flag', what: 'injects no faults, so nothing may be unavailable' },
    points: {
      kind: 'list',
      of: Object.values(FAILPOINTS).flat(),
      what: 'failpoints to use; without --faults, no other kind of fault',
    },
  },
})
const { calm, points } = values
const wanted = values.faults ?? (points === undefined ? FAULTS.map(({ name }) => name) : ['failpoint'])
const faults = FAULTS.filter(({ name }) => !calm && wanted.includes(name)).map((fault) =>
  fault === failpoint && points !== undefined ? failpointAmong(points) : fault,
)
const seed = values.seed ?? randomInt(1, 2 ** 31 - 1)
console.log(`seed ${seed}`)

const reports = await runCampaign({
  seed,
  minutes: values.minutes,
  roundSeconds: values['round-seconds'],
  actors: values.actors,
  faults,
  onRound: print,
})
const [first] = reports
if (values.chart !== undefined && first !== undefined)
  writeFileSync(values.chart, chartOfRound(await readHistory(first.history)))
const violations = reports.flatMap((report) => report.violations)
console.log(`operations  ${reports.reduce((sum, { operations }) => sum + operations, 0)}`)
console.log(`requests    ${reports.reduce((sum, { attempts }) => sum + attempts, 0)}`)
console.log(`rounds      ${reports.length}`)
for (const [name, count] of Object.entries(sumOf(reports.map((report) => report.outcomes))))
  console.log(`  ${count}  ${name}`)
console.log(`partitions  ${reports.reduce((sum, { emptied }) => sum + emptied, 0)} emptied`)
console.log('faults')
for (const [name, count] of Object.entries(sumOf(reports.map((report) => report.faults))))
  console.log(`  ${count}  ${name}`)
console.log(`violations  ${violations.length}`)
process.exitCode = violations.length === 0 ? 0 : 1

function print({ seed: ofRound, operations, faults: done, violations: found, history }: RoundReport): void {
  const broken = Object.values(done).reduce((sum, count) => sum + count, 0)
  console.log(
    `round of seed ${ofRound}: ${operations} operations, ${broken} faults, ${found.length} violations, ${history}`,
  )
  for (const { rule, text } of found.slice(0, 20)) console.log(`  VIOLATION  ${rule}: ${text}`)
}

function sumOf(counts: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const [name, count] of counts.flatMap((one) => Object.entries(one))) sums[name] = (sums[name] ?? 0) + count
  return Object.fromEntries(Object.entries(sums).toSorted())
}
