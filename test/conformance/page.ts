/** `docs/conformance.md`: each section of the specification with the tests whose names cite it. */
import { readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { parse } from 'yaml'
import { isOf, type NamedTest } from './cite.ts'
import { ROWS, type Row } from './rows.ts'
import { readSections } from './sections.ts'

/** Path from the root of the repository. */
export const PAGE_PATH = 'docs/conformance.md'

interface Conformance {
  /** The text of the page. */
  readonly page: string
  /** One sentence for each row without a test. */
  readonly problems: readonly string[]
}

/** Names that are only examples, and the faults of the last chapter. */
const NOT_COUNTED = ['test/conformance/conformance.test.ts', 'clients/conformance/test/mutants.test.ts']

interface Fault {
  readonly spec: string
  readonly fault: string
  readonly caught_by: string
}

const MUTANTS = new URL('../../clients/conformance/test/mutants.yaml', import.meta.url)

/** @param tests of the whole repository. @param faults that the conformance suite finds in a spoilt server. */
export function conformanceOf(
  tests: readonly NamedTest[],
  rows: readonly Row[] = ROWS,
  faults: readonly Fault[] = parse(readFileSync(MUTANTS, 'utf8')),
): Conformance {
  const counted = tests.filter(({ file }) => !NOT_COUNTED.includes(file))
  const found = rows.map((row) => ({ row, tests: counted.filter((test) => isOf(row, test)) }))
  const head = [
    '# Conformance',
    '',
    'Each section of [the specification](specification/README.md) that holds rules, each row of its larger tables, and the tests whose names',
    'cite them. `npx pnpm conformance` writes this page from the headings of the specification and the names of the tests. `npx pnpm test`',
    'fails if a row has no test, or if this page is out of date.',
  ]
  const chapters = Map.groupBy(found, ({ row }) => chapterOf(row))
  const body = [...chapters].flatMap(([title, entries]) => [
    '',
    `## ${title}`,
    '',
    '| section | about | tests | one of them |',
    '| --- | --- | --- | --- |',
    ...entries.map(({ row, tests: own }) => lineOf(row, own)),
  ])
  return {
    page: `${[...head, ...body, ...chapterOfFaults(faults)].join('\n')}\n`,
    problems: found.filter(({ tests: own }) => own.length === 0).map(({ row }) => `${nameOf(row)} has no test`),
  }
}

function chapterOfFaults(faults: readonly Fault[]): string[] {
  return [
    '',
    '## Faults that the suite finds',
    '',
    'The suite is tested too. A copy of the reference server breaks one rule at a time, and the case beside it fails. The server without',
    'the fault passes all of these cases. [mutants.yaml](../clients/conformance/test/mutants.yaml) has the change that makes each fault.',
    '',
    '| section | a server where | fails the case |',
    '| --- | --- | --- |',
    ...faults.map(({ spec, fault, caught_by: id }) => `| ${spec} | ${cell(fault)} | ${id} |`),
  ]
}

const CHAPTERS = new Map(readSections().map(({ number, chapter }) => [number, chapter]))

function chapterOf({ section }: Row): string {
  return CHAPTERS.get(section) ?? section
}

function nameOf({ section, about }: Row): string {
  return `spec ${section} (${about})`
}

function lineOf({ section, about }: Row, tests: readonly NamedTest[]): string {
  const files = [...new Set(tests.map(({ file }) => file))].sort()
  const links = files.map((file) => `[${labelOf(file)}](../${file})`)
  // Takes the shortest name, because it is the easiest to read and the choice never varies.
  const [example = ''] = tests.map(({ name }) => name).sort((a, b) => a.length - b.length || (a < b ? -1 : 1))
  return `| ${section} | ${cell(about)} | ${links.join(', ')} | ${cell(example)} |`
}

/** Shortens services/identity/test/directory.test.ts to `identity/directory`. */
function labelOf(file: string): string {
  const folders = posix.dirname(file).split('/')
  const piece = folders[0] === 'test' ? folders.at(-1) : folders[1]
  return `${piece}/${posix.basename(file, '.test.ts')}`
}

function cell(text: string): string {
  // Names may contain control characters, pipes and brackets, but a cell is one line of plain text.
  const shown = text.length > 160 ? `${text.slice(0, 159)}…` : text
  return shown.replaceAll(/[\\`*_{}[\]<>|#]/g, '\\$&').replaceAll(/[\p{Cc}\p{Cs}\u2028\u2029]+/gu, ' ')
}
