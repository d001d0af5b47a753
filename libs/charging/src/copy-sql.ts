/**
 * The SQL that every owner of operations has in its own schema: a table and two functions, under `libs/charging/database`.
 * Each owner keeps copies under its own `database/`, so that all of a schema is in one folder. A test holds every copy
 * against the source. The table's file must never change once it was run: a change of the table is a new file beside it.
 *
 * `node libs/charging/src/copy-sql.ts <owner> <number>` writes an owner's copies, the table's under this number: 0003.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

const SOURCE = new URL('../database/', import.meta.url)
const SERVICES = new URL('../../../services/', import.meta.url)
const FUNCTIONS = ['commit_operation', 'fence_operations']
const MARK = '-- Copied by libs/charging/src/copy-sql.ts; not to be edited.\n'

/**
 * @param schema the owner's, which is also the name of its role.
 * @param number of the table's file.
 * @returns texts by their paths in the owner's folder `database`.
 */
export function sqlForOwner(schema: string, number: string): Map<string, string> {
  if (!/^[a-z][a-z_]*$/.test(schema)) throw new RangeError(`${schema} is not the name of a schema`)
  if (!/^\d{4}$/.test(number)) throw new RangeError(`${number} is not the number of a file, such as 0003`)
  const read = (path: string): string => readFileSync(new URL(path, SOURCE), 'utf8').replaceAll('{{schema}}', schema)
  return new Map([
    [`tables/${number}_operations-1.sql`, MARK + read('tables/operations-1.sql')],
    // Their first line names the function and its revision.
    ...FUNCTIONS.map((name): [string, string] => {
      const path = `functions/${name}.sql`
      return [path, read(path).replace('\n', `\n${MARK}`)]
    }),
  ])
}

if (import.meta.main) {
  const [owner = '', number = ''] = process.argv.slice(2)
  for (const [path, text] of sqlForOwner(owner, number)) {
    const file = fileURLToPath(new URL(`${owner}/database/${path}`, SERVICES))
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
}
