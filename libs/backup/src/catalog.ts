/** What a database has, as its catalog says. */
import type { ClientBase } from 'pg'

export interface TableInfo {
  readonly schema: string
  readonly table: string
  /** Without generated columns. */
  readonly columns: string[]
}

/** A schema's own records of what has run, which the migrations of a restore write. */
const RECORDS = ['migrations', 'functions']
/**
 * Used nonces are not copied. The gateways start at least two minutes after the old ones stopped, and by then every request that
 * was signed before is too old. A lock on these tables would also keep identity from emptying them during a long backup.
 */
const FORGOTTEN = /^identity\.nonces_\d+$/

/** The tables with rows, partitions and not their parents, each after the tables that its foreign keys name. */
export async function listTables(client: ClientBase, schemas: readonly string[]): Promise<TableInfo[]> {
  const { rows } = await client.query<TableInfo & { oid: string; needs: string[] }>(
    `select c.oid::text as oid, n.nspname as schema, c.relname as table,
       array(
         select a.attname::text from pg_catalog.pg_attribute a
         where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' order by a.attnum
       ) as columns,
       array(
         select k.confrelid::text from pg_catalog.pg_constraint k
         where k.conrelid = c.oid and k.contype = 'f' and k.confrelid <> c.oid
       ) as needs
     from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
     where n.nspname = any ($1) and c.relkind = 'r' and c.relname <> all ($2)
     order by 2, 3`,
    [schemas, RECORDS],
  )
  const waiting = rows.filter(({ schema, table }) => !FORGOTTEN.test(`${schema}.${table}`))
  const sorted: TableInfo[] = []
  while (waiting.length > 0) {
    const open = new Set(waiting.map(({ oid }) => oid))
    const at = waiting.findIndex(({ needs }) => !needs.some((oid) => open.has(oid)))
    const [next] = waiting.splice(at === -1 ? 0 : at, 1)
    if (next !== undefined) sorted.push({ schema: next.schema, table: next.table, columns: next.columns })
  }
  return sorted
}

/** Of the given schemas, those that exist. */
export async function findSchemas(client: ClientBase, schemas: readonly string[]): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    'select nspname as name from pg_catalog.pg_namespace where nspname = any ($1) order by 1',
    [schemas],
  )
  return rows.map(({ name }) => name)
}

/** The numbered files that have run in the schema. */
export async function listMigrations(client: ClientBase, schema: string): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(`select name from ${quote(schema)}.migrations order by name`)
  return rows.map(({ name }) => name)
}

export async function listSequences(
  client: ClientBase,
  schemas: readonly string[],
): Promise<{ schema: string; sequence: string; value: string; called: boolean }[]> {
  const { rows } = await client.query<{ schema: string; sequence: string }>(
    `select schemaname as schema, sequencename as sequence from pg_catalog.pg_sequences
     where schemaname = any ($1) order by 1, 2`,
    [schemas],
  )
  const found = []
  for (const { schema, sequence } of rows) {
    if (RECORDS.some((name) => sequence.startsWith(`${name}_`))) continue
    const { rows: states } = await client.query<{ value: string; called: boolean }>(
      `select last_value::text as value, is_called as called from ${nameOf(schema, sequence)}`,
    )
    const [state] = states
    if (state !== undefined) found.push({ schema, sequence, ...state })
  }
  return found
}

export function nameOf(schema: string, name: string): string {
  return `${quote(schema)}.${quote(name)}`
}

export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
