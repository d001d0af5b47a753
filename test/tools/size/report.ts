import { isTest, packageOf } from '../check/imports/imports.ts'
import type { SourceFile } from '../check/source-file.ts'

/** As in long-functions.json. */
export const MAX_FUNCTION_LINES = 60
const MAX_FILE_LINES = 250

/** A function of source with more lines than `MAX_FUNCTION_LINES`. */
export interface LongFunction {
  readonly path: string
  readonly line: number
  readonly lines: number
}

interface Row {
  readonly name: string
  source: number
  sql: number
  tests: number
  longFiles: number
  longFunctions: number
}

/** @param named whether long files and functions are listed. */
export function reportOf(files: readonly SourceFile[], functions: readonly LongFunction[], named: boolean): string {
  const rows = new Map<string, Row>()
  const longFiles: string[] = []
  const longFunctions = functions.filter(({ path }) => kindOf(path) === 'source')
  for (const { path, text } of files) {
    const row = rowOf(rows, path)
    const lines = text.split('\n').length - 1
    row[kindOf(path)] += lines
    if (lines <= MAX_FILE_LINES) continue
    row.longFiles += 1
    longFiles.push(`${path}: ${lines}`)
  }
  for (const { path } of longFunctions) rowOf(rows, path).longFunctions += 1
  const sorted = [...rows.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const total = rowOf(new Map(), 'total')
  for (const row of sorted) {
    for (const column of COLUMNS) total[column] += row[column]
  }
  const table = [HEADER, '|---|---:|---:|---:|---:|---:|', ...[...sorted, total].map(lineOf)]
  if (!named) return table.join('\n')
  const places = longFunctions
    .toSorted((a, b) => b.lines - a.lines)
    .map(({ path, line, lines }) => `${path}:${line}: ${lines}`)
  return [
    ...table,
    '',
    `Functions over ${MAX_FUNCTION_LINES} lines:`,
    ...places,
    '',
    `Files over ${MAX_FILE_LINES} lines:`,
    ...longFiles,
  ].join('\n')
}

const HEADER = `| package | source | SQL | tests | files over ${MAX_FILE_LINES} | functions over ${MAX_FUNCTION_LINES} |`
const COLUMNS = ['source', 'sql', 'tests', 'longFiles', 'longFunctions'] as const

function lineOf(row: Row): string {
  return `| ${row.name} | ${COLUMNS.map((column) => row[column].toLocaleString('en')).join(' | ')} |`
}

/** All of `test/` counts as tests: its tools are part of what has to be read beside the product. */
function kindOf(path: string): 'source' | 'sql' | 'tests' {
  if (isTest(path) || path.startsWith('test/') || path.includes('/test/')) return 'tests'
  return path.endsWith('.sql') ? 'sql' : 'source'
}

function rowOf(rows: Map<string, Row>, path: string): Row {
  const parts = path.startsWith('test/') ? path.split('/').slice(0, -1).slice(0, 3) : [packageOf(path) ?? path]
  const [first, second, third] = parts
  const name =
    second === undefined ? String(first) : [first, second, ...(second === 'tools' && third ? [third] : [])].join('/')
  const found = rows.get(name) ?? { name, source: 0, sql: 0, tests: 0, longFiles: 0, longFunctions: 0 }
  rows.set(name, found)
  return found
}
