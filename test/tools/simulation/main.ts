/** `npx pnpm simulate`: writes the tables of docs/operating/scale.md from test/tools/simulation/inputs.ts, and prints them. */
import { readFileSync, writeFileSync } from 'node:fs'
import { readCommandLine } from '../../support/run/command-line.ts'
import { fillPage, renderTables } from './tables.ts'

const PAGE = new URL('../../../docs/operating/scale.md', import.meta.url)

readCommandLine({
  command: 'npx pnpm simulate',
  does: 'Writes the tables of docs/operating/scale.md from test/tools/simulation/inputs.ts, and prints them.',
  options: {},
})
const tables = renderTables()
const page = readFileSync(PAGE, 'utf8')
const filled = fillPage(page, tables)
for (const table of Object.values(tables)) console.log(`${table}\n`)
if (filled !== page) writeFileSync(PAGE, filled)
