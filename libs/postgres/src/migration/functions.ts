/** Updates the functions of a schema to the text of their files (docs/adr/0023-one-current-file-per-sql-function.md). */
import type { ClientBase } from 'pg'
import type { FunctionFile } from './schema-files.ts'

/**
 * Replaces every function whose text has changed, in one transaction, so that callers see either all old texts or all new ones.
 * If a later release has made a function, its text stays. So the migration step of an older release, which a rollback may run,
 * does not downgrade it.
 */
export async function replaceFunctions(
  client: ClientBase,
  schema: string,
  functions: readonly FunctionFile[],
  log: (line: string) => void,
): Promise<void> {
  if (functions.length === 0) return
  await client.query('begin')
  await ensureRecord(client, schema)
  const recorded = await readRecord(client, schema)
  const changed = functions.filter(({ name, revision, checksum }) => {
    const there = recorded.get(name)
    if (there === undefined) return true
    if (there.revision > revision) log(`${schema}.${name} stays at revision ${there.revision}, of a later release`)
    return there.revision <= revision && there.checksum !== checksum
  })
  // Functions call each other, so check their bodies only when all of them exist.
  await client.query('set local check_function_bodies = off')
  for (const one of changed) {
    log(`${schema}.${one.name}: revision ${one.revision}`)
    await client.query(one.text).catch((error: unknown) => {
      throw withFile(error, schema, one)
    })
    await client.query(
      `insert into ${quote(schema)}.functions (name, revision, checksum) values ($1, $2, $3)
       on conflict (name) do update
       set revision = excluded.revision, checksum = excluded.checksum, changed_at = excluded.changed_at`,
      [one.name, one.revision, one.checksum],
    )
  }
  await client.query('set local check_function_bodies = on')
  for (const one of changed) {
    await client.query(VALIDATE, [schema, one.name]).catch((error: unknown) => {
      throw withFile(error, schema, one)
    })
  }
  await client.query('commit')
}

/** The check that Postgres itself does at the end of `create function`. */
const VALIDATE = `
  select case l.lanname
    when 'sql' then pg_catalog.fmgr_sql_validator(p.oid)::text
    when 'plpgsql' then pg_catalog.plpgsql_validator(p.oid)::text
  end
  from pg_catalog.pg_proc p join pg_catalog.pg_language l on l.oid = p.prolang
  where p.pronamespace = (select n.oid from pg_catalog.pg_namespace n where n.nspname = $1) and p.proname = $2`

/** Creates the record if it is missing. The service's role may read it; only the owner may write it. */
async function ensureRecord(client: ClientBase, schema: string): Promise<void> {
  const table = `${quote(schema)}.functions`
  const { rows } = await client.query<{ found: boolean }>('select pg_catalog.to_regclass($1) is not null as found', [
    table,
  ])
  if (rows[0]?.found === true) return
  await client.query(`
    create table ${table} (
      name text collate "C" primary key,
      revision integer not null,
      -- SHA-256 of the file that made it.
      checksum text not null,
      changed_at timestamptz not null default pg_catalog.clock_timestamp()
    )`)
  await client.query(`revoke all on ${table} from ${quote(schema)}`)
  await client.query(`grant select on ${table} to ${quote(schema)}`)
}

/** Reads the record, by function name. Leaves out functions that were dropped. */
async function readRecord(
  client: ClientBase,
  schema: string,
): Promise<Map<string, { revision: number; checksum: string }>> {
  const { rows } = await client.query<{ name: string; revision: number; checksum: string }>(
    `select f.name, f.revision, f.checksum from ${quote(schema)}.functions f
     where exists (
       select from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
       where n.nspname = $1 and p.proname = f.name
     )`,
    [schema],
  )
  return new Map(rows.map((row) => [row.name, row]))
}

/** Adds the file to the message, because Postgres reports at most a line of the body. */
function withFile(error: unknown, schema: string, { name }: FunctionFile): unknown {
  if (error instanceof Error) error.message = `functions/${name}.sql of ${schema}: ${error.message}`
  return error
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
