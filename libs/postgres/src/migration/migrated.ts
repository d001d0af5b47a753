import type { Sql } from '../database.ts'
import { sqlStateOf } from '../errors.ts'
import { RESTORING } from './restoring.ts'
import type { SchemaFiles } from './schema-files.ts'

/** The table, the schema or the right to read it is missing: no migration has run yet, or its grants come later. */
const NOTHING_YET = new Set(['42P01', '3F000', '42501'])

/**
 * @returns the first migration or function that the code needs and the schema lacks, such as `migration 0100_baseline`. The schema
 *   may have more migrations, and higher revisions of functions, from a later release. Or a sentence about an unfinished restore.
 */
export async function findMissing(
  sql: Sql,
  schema: string,
  { tables, functions }: Pick<SchemaFiles, 'tables' | 'functions'>,
): Promise<string | undefined> {
  const restoring = await sql`select from pg_namespace where nspname = ${RESTORING}`
  if (restoring.length > 0) return 'the rest of a backup: svc admin restore is at work or was interrupted'
  const run = new Set(
    (await unlessNothing(sql<{ name: string }[]>`select name from ${sql(schema)}.migrations`)).map(({ name }) => name),
  )
  const table = tables.find((name) => !run.has(name))
  if (table !== undefined) return `migration ${table}`
  if (functions.length === 0) return
  const made = new Map(
    (
      await unlessNothing(
        sql<{ name: string; revision: number }[]>`select name, revision from ${sql(schema)}.functions`,
      )
    ).map(({ name, revision }) => [name, revision]),
  )
  const lacking = functions.find(({ name, revision }) => (made.get(name) ?? 0) < revision)
  return lacking && `function ${lacking.name}, revision ${lacking.revision}`
}

async function unlessNothing<T extends readonly unknown[]>(rows: PromiseLike<T>): Promise<T | []> {
  try {
    return await rows
  } catch (error) {
    if (NOTHING_YET.has(sqlStateOf(error))) return []
    throw error
  }
}
