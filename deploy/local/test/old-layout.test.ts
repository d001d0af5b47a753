/**
 * Databases from before ADR 23, when numbered files made the functions. The test recreates the differences between
 * such a database and a new one. The migration must remove them.
 */
import { fileURLToPath } from 'node:url'
import { migrate } from '@svc/postgres/migration/migrate.ts'
import postgres from 'postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/support/engines/database.ts'
import { STORES, type StoreName } from '../src/topology.ts'

/** Numbered files, since removed, that only made functions. */
const GONE: Partial<Record<StoreName, string[]>> = {
  budget: [
    '0002_reserve',
    '0003_settle-and-release',
    '0004_grant-credits',
    '0006_price-of-a-repeat',
    '0007_reserve-one',
  ],
  identity: ['0006_admit-one'],
  messaging: [
    '0002_append',
    '0011_append-posts',
    '0012_append-ground',
    '0013_append-posts-in-order',
    '0014_append-one',
    '0015_append-within',
    '0016_fence-by-operation',
  ],
  webhook: ['0003_claim-by-index'],
}

const APPENDED = `(
  ord bigint, outcome text, lane text, "position" bigint, accepted_at bigint, expires_at bigint, outbox_id bigint
)`
const BATCH = `log_ids text[], ids text[], digests text[], senders text[], recipients text[], lanes text[], threads text[],
  envelopes text[], expiry_caps bigint[], standings bigint[], operations text[], deadlines_ms bigint[],
  retention_seconds double precision, lease_seconds double precision`

/** Functions that such a database has in addition, or with another text. */
const OTHERWISE: Partial<Record<StoreName, string[]>> = {
  messaging: [
    `create function messaging.append(${BATCH}, policies text[], contacts text[]) returns table ${APPENDED}
     language sql as $$ select null::bigint, '', '', 0::bigint, 0::bigint, 0::bigint, 0::bigint $$`,
    `create or replace function messaging.append(${BATCH}) returns table ${APPENDED} language sql as $$
       select a.* from messaging.append(log_ids, ids, digests, senders, recipients, lanes, threads, envelopes, expiry_caps,
         standings, operations, deadlines_ms, retention_seconds, lease_seconds, null, null) a
     $$`,
  ],
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

test.each(STORES)('ADR 23: a database of %s from before functions had files is like a new one', async (store) => {
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
