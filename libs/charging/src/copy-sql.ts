/**
 * The SQL that every owner of operations needs in its own schema: a table and two functions, under
 * `libs/charging/database`. Each owner keeps copies in its own `database/`, so that one folder holds the whole schema. A
 * test compares every copy with the source. Never change the table's file after it has run; to change the table, add a new
 * file.
 *
 * `node libs/charging/src/copy-sql.ts <owner> <number>` writes an owner's copies. `<number>` is the number of the table's
 * file, such as 0003.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

const SOURCE = new URL('../database/', import.meta.url)
const SERVICES = new URL('../../../services/', import.meta.url)
const FUNCTIONS = ['commit_operation', 'fence_operations']
const MARK = '-- Copied by libs/charging/src/copy-sql.ts; not to be edited.\n'

/**
 * @param schema the owner's schema, which is also the name of its role.
 * @param number the number of the table's file.
 * @returns the texts by their paths in the owner's folder `database`.
 */
export function sqlForOwner(schema: string, number: string): Map<string, string> {
  if (!/^[a-z][a-z_]*$/.test(schema))
    throw new RangeError(`"${schema}" is not the name of a schema: use lower-case letters and _`)
  if (!/^\d{4}$/.test(number))
    throw new RangeError(`"${number}" is not the number of a file: use four digits, such as 0003`)
  const read = (path: string): string => readFileSync(new URL(path, SOURCE), 'utf8').replaceAll('{{schema}}', schema)
  return new Map([
    [`tables/${number}_operations-1.sql`, MARK + read('tables/operations-1.sql')],
    // The first line of a function's file names the function and its revision, so the mark goes below it.
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
