/**
 * `npx pnpm release:record`: records the contracts and SQL of this tree as a release. The next release must be able to run
 * beside it.
 */
import { writeFileSync } from 'node:fs'
import { readCommandLine } from '../../support/run/command-line.ts'
import { RECORD_PATH, recordRelease } from './release-record.ts'

readCommandLine({
  command: 'npx pnpm release:record',
  does: 'Writes test/tools/check/released.json: the calls, tables and SQL functions of a release, which later releases are checked against.',
  options: {},
})
const record = await recordRelease()
writeFileSync(RECORD_PATH, `${JSON.stringify(record)}\n`)
console.log(
  `${Object.keys(record.calls).length} calls, ${Object.keys(record.tables).length} files of tables, ${Object.keys(record.functions).length} functions`,
)
