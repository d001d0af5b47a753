import { readdirSync } from 'node:fs'
import { type Sql, sqlStateOf } from './database.ts'

/** The table, the schema or the right to read it is not there: nothing was run yet, or its grants come later. */
const NOTHING_YET = new Set(['42P01', '3F000', '42501'])

/** The numbered SQL files that the code was written for, by their names in `<schema>.migrations`, in order. */
export function listMigrations(dir: URL): string[] {
  return readdirSync(dir)
    .filter((file) => file.endsWith('.sql'))
    .map((file) => file.slice(0, -'.sql'.length))
    .toSorted()
}

/** @returns the first of these migrations that the schema does not have; it may well have others, of a later release. */
export async function findMissingMigration(
  sql: Sql,
  schema: string,
  names: readonly string[],
): Promise<string | undefined> {
  try {
    const rows = await sql<{ name: string }[]>`select name from ${sql(schema)}.migrations`
    const run = new Set(rows.map(({ name }) => name))
    return names.find((name) => !run.has(name))
  } catch (error) {
    if (NOTHING_YET.has(sqlStateOf(error))) return names[0]
    throw error
  }
}
