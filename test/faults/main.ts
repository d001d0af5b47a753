/**
 * `npx pnpm faults [--minutes 60] [--seed <n>]`: the system under fire, for as long as one likes. Prints what was done,
 * what was broken and what was found, and fails where anything was.
 */
import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { type RoundReport, runCampaign } from './campaign.ts'
import { failpoint, failpointAmong } from './nemesis/failpoint.ts'
import { FAULTS } from './nemesis/kinds.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    seed: { type: 'string' },
    actors: { type: 'string', default: '14' },
    'round-seconds': { type: 'string', default: '45' },
    /** Kinds of faults, separated by commas; all where nothing is said. */
    faults: { type: 'string' },
    /** Of the kind `failpoint`, which ones; without others, no other kind of fault. */
    points: { type: 'string' },
  },
})
const points = values.points?.split(',')
const wanted = values.faults?.split(',') ?? (points === undefined ? FAULTS.map(({ name }) => name) : ['failpoint'])
for (const name of wanted)
  if (!FAULTS.some((fault) => fault.name === name)) throw new Error(`no kind of fault is called ${name}`)
const faults = FAULTS.filter(({ name }) => wanted.includes(name)).map((fault) =>
  fault === failpoint && points !== undefined ? failpointAmong(points) : fault,
)
const seed = values.seed === undefined ? randomInt(1, 2 ** 31 - 1) : Number(values.seed)
console.log(`seed ${seed}`)

const reports = await runCampaign({
  seed,
  minutes: Number(values.minutes),
  roundSeconds: Number(values['round-seconds']),
  actors: Number(values.actors),
  faults,
  onRound: print,
})
const violations = reports.flatMap((report) => report.violations)
console.log(`operations  ${reports.reduce((sum, { operations }) => sum + operations, 0)}`)
console.log(`requests    ${reports.reduce((sum, { attempts }) => sum + attempts, 0)}`)
console.log(`rounds      ${reports.length}`)
for (const [name, count] of Object.entries(sumOf(reports.map((report) => report.outcomes))))
  console.log(`  ${count}  ${name}`)
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
