/**
 * Databases from before ADR 23, when numbered files created the functions. The test recreates the differences between such
 * a database and a new one. The migration must remove them.
 */
import { fileURLToPath } from 'node:url'
import { migrate } from '@svc/postgres/migration/migrate.ts'
import postgres from 'postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/support/engines/database.ts'
import { STORES, type StoreName } from '../src/topology.ts'

/** Removed numbered files that only created functions. */
const GONE: Partial<Record<StoreName, string[]>> = {
  budget: [
    '0002_reserve',
    '0003_settle-and-release',
    '0004_grant-credits',
    '0006_price-of-a-repeat',
    '0007_reserve-one',
  ],
  identity: ['0006_admit-one'],
  webhook: ['0003_claim-by-index'],
}

/** Functions that only such a database has, or that have another text there. */
const OTHERWISE: Partial<Record<StoreName, string[]>> = {
  webhook: [
    `create function webhook.claim(
       steady_limit bigint, struggling_limit bigint, slots bigint, lease_seconds double precision
     ) returns table (agent_id text) language sql as $$ select '' $$`,
    `create function webhook.finish(
       agents text[], configurations uuid[], messages text[], leases uuid[], outcomes text[], delays double precision[]
     ) returns void language sql as $$ select $$`,
  ],
}

let database: TestDatabase
let fresh: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase(STORES)
  fresh = await createTestDatabase(STORES)
})
afterAll(async () => {
  await database?.[Symbol.asyncDispose]()
  await fresh?.[Symbol.asyncDispose]()
})

/** Messaging has since started over with its baseline. */
const BEFORE = STORES.filter((store) => store !== 'messaging')

test.each(BEFORE)('ADR 23: a database of %s from before functions had files becomes like a new one', async (store) => {
  await using owner = connect(database.urlFor(`${store}_owner`))
  await using other = connect(fresh.urlFor(`${store}_owner`))
  const gone = GONE[store] ?? []
  await owner.sql`drop table if exists ${owner.sql(`${store}.functions`)}`
  for (const name of gone)
    await owner.sql`insert into ${owner.sql(`${store}.migrations`)} (name, run_on) values (${name}, now())`
  for (const statement of OTHERWISE[store] ?? []) await owner.sql.unsafe(statement)
  const names = await namesRun(owner.sql, store)
  expect(names).toEqual(expect.arrayContaining(gone))

  await migrate({
    url: database.urlFor(`${store}_owner`),
    schema: store,
    dir: fileURLToPath(new URL(`../../../services/${store}/database`, import.meta.url)),
  })

  expect(await objectsOf(owner.sql, store)).toEqual(await objectsOf(other.sql, store))
  // A rollback finds the names that the old code expects.
  expect(await namesRun(owner.sql, store)).toEqual(names)
})

test('ADR 29: a database of messaging from before its baseline is left as it is, and the operator is told what to do', async () => {
  await using owner = connect(database.urlFor('messaging_owner'))
  await owner.sql`update messaging.migrations set name = '0001_logs-and-messages' where name = '0100_baseline'`
  const tables = await objectsOf(owner.sql, 'messaging')
  const again = migrate({
    url: database.urlFor('messaging_owner'),
    schema: 'messaging',
    dir: fileURLToPath(new URL('../../../services/messaging/database', import.meta.url)),
  })
  await expect(again).rejects.toThrow(
    /^the schema messaging was laid out by a version before 2\.0\.0, .* begin with an empty database .*delete the folder \.data/,
  )
  expect(await objectsOf(owner.sql, 'messaging')).toEqual(tables)
})

function connect(url: string): AsyncDisposable & { sql: postgres.Sql } {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  return { sql, [Symbol.asyncDispose]: () => sql.end({ timeout: 5 }) }
}

async function namesRun(sql: postgres.Sql, store: StoreName): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`select name from ${sql(`${store}.migrations`)} order by name`
  return rows.map(({ name }) => name)
}

/** Functions and tables with their rights, and the records about functions. */
async function objectsOf(sql: postgres.Sql, store: StoreName): Promise<unknown[]> {
  const functions = await sql`
    select p.proname, pg_get_functiondef(p.oid) as text, p.proacl::text from pg_proc p
    where p.pronamespace = ${store}::regnamespace order by p.proname, text`
  const tables = await sql`
    select c.relname, c.relacl::text from pg_class c where c.relnamespace = ${store}::regnamespace order by c.relname`
  if (functions.length === 0) return [tables]
  return [tables, functions, await sql`select name, revision, checksum from ${sql(`${store}.functions`)} order by name`]
}
