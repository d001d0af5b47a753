/** `docs/conformance.md`: each row of the specification and each decision, and the tests that name it. */
import { posix } from 'node:path'
import { isOf, type NamedTest } from './cite.ts'
import { ROWS, type Row } from './rows.ts'

/** From the root of the repository. */
export const PAGE_PATH = 'docs/conformance.md'

export interface Conformance {
  /** The text of the page. */
  readonly page: string
  /** One sentence for each row that says what is not so. */
  readonly problems: readonly string[]
}

/** Names in the tests of this page are examples of names. */
const EXAMPLES = /^test\/conformance\//

/** @param tests all of them. */
export function conformanceOf(tests: readonly NamedTest[], rows: readonly Row[] = ROWS): Conformance {
  const counted = tests.filter(({ file }) => !EXAMPLES.test(file))
  const found = rows.map((row) => ({ row, tests: counted.filter((test) => isOf(row, test)) }))
  const notBuilt = rows.filter((row) => row.notBuilt).length
  const head = [
    '# Conformance',
    '',
    'Each row of the specification (`service.md`) and each decision (`decisions.md`), and the tests whose names cite it. Written by',
    '`npx pnpm conformance` from `test/conformance/rows.ts` and the names of the tests; `npx pnpm test` fails where a row has none, or where',
    'this page is not what would be written.',
    '',
    `${rows.length} rows: ${rows.length - notBuilt} have tests, ${notBuilt} are not built yet.`,
  ]
  const sections = Map.groupBy(found, ({ row }) => titleOf(row))
  const body = [...sections].flatMap(([title, entries]) => [
    '',
    `## ${title}`,
    '',
    '| row | tests | one of them |',
    '| --- | --- | --- |',
    ...entries.map(({ row, tests: own }) => lineOf(row, own)),
  ])
  return {
    page: `${[...head, ...body].join('\n')}\n`,
    problems: found.flatMap(({ row, tests: own }) => problemsOf(row, own)),
  }
}

function problemsOf(row: Row, tests: readonly NamedTest[]): string[] {
  const name = `${row.source} (${row.about})`
  if (row.notBuilt) return tests.length === 0 ? [] : [`${name} is said to be not built, but ${tests[0]?.file} tests it`]
  return tests.length === 0 ? [`${name} has no test`] : []
}

/** Decisions stand together; numbered rules and tables under their section. */
function titleOf({ source }: Row): string {
  return source.replace(/ \d+$/, '')
}

function lineOf(row: Row, tests: readonly NamedTest[]): string {
  const number = /\d+$/.exec(row.source)?.[0]
  const what = number === undefined ? row.about : `${number}. ${row.about}`
  if (row.notBuilt) return `| ${cell(what)} | not built yet | |`
  const files = [...new Set(tests.map(({ file }) => file))].sort()
  const links = files.map((file) => `[${labelOf(file)}](../${file})`)
  // The shortest name is the easiest to read, and the same each time.
  const [example = ''] = tests.map(({ name }) => name).sort((a, b) => a.length - b.length || (a < b ? -1 : 1))
  return `| ${cell(what)} | ${links.join(', ')} | ${cell(example)} |`
}

/** `identity/directory` of services/identity/test/directory.test.ts. */
function labelOf(file: string): string {
  const folders = posix.dirname(file).split('/')
  const piece = folders[0] === 'test' ? folders.at(-1) : folders[1]
  return `${piece}/${posix.basename(file, '.test.ts')}`
}

function cell(text: string): string {
  // Names hold control characters, pipes and brackets; a cell is one line of plain text.
  const shown = text.length > 160 ? `${text.slice(0, 159)}…` : text
  return shown.replaceAll(/[\\`*_{}[\]<>|#]/g, '\\$&').replaceAll(/[\p{Cc}\p{Cs}\u2028\u2029]+/gu, ' ')
}
