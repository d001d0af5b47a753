/** Reads the rights of every role on every object from Postgres, so that new objects are covered too. */
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/support/engines/database.ts'
import { STORES } from '../src/topology.ts'

let database: TestDatabase
let admin: postgres.Sql

beforeAll(async () => {
  database = await createTestDatabase(STORES)
  admin = postgres(database.adminUrl, { max: 1, onnotice: () => {} })
})
afterAll(async () => {
  await admin?.end()
  await database?.[Symbol.asyncDispose]()
})

const ROLES = STORES.flatMap((store) => [store, `${store}_owner`])

async function namesOf(rows: postgres.PendingQuery<{ name: string }[]>): Promise<string[]> {
  return (await rows).map(({ name }) => name)
}

describe('each service has its own database role, limited to its own schema', () => {
  test.each(ROLES)('%s has no right on any table, column, sequence, function or schema of another', async (role) => {
    const own = role.replace(/_owner$/, '')
    const [looked] = await admin<{ tables: number; functions: number }[]>`
      select count(*) filter (where c.relkind = 'r')::integer as tables, (
        select count(*)::integer from pg_proc p join pg_namespace n on n.oid = p.pronamespace
        where n.nspname = any (${[...STORES]})
      ) as functions
      from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = any (${[...STORES]})`
    expect(looked?.tables).toBeGreaterThan(25)
    expect(looked?.functions).toBeGreaterThan(15)
    const others = STORES.filter((store) => store !== own)
    const rights = await namesOf(admin<{ name: string }[]>`
      select n.nspname || '.' || c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = any (${others}) and (
        (c.relkind in ('r', 'p', 'v', 'm') and (
          has_table_privilege(${role}, c.oid, 'select, insert, update, delete, truncate, references, trigger')
          or has_any_column_privilege(${role}, c.oid, 'select, insert, update, references')
        ))
        or (c.relkind = 'S' and has_sequence_privilege(${role}, c.oid, 'usage, select, update'))
      )
      union all
      select n.nspname || '.' || p.proname || '()' from pg_proc p join pg_namespace n on n.oid = p.pronamespace
      where n.nspname = any (${others}) and has_function_privilege(${role}, p.oid, 'execute')
      union all
      select n.nspname from pg_namespace n
      where n.nspname = any (${others}) and has_schema_privilege(${role}, n.oid, 'usage, create')`)
    expect(rights).toEqual([])
  })

  test('every role can only log in, and none is a member of another', async () => {
    const roles = await admin`
      select r.rolname, r.rolsuper, r.rolcreaterole, r.rolcreatedb, r.rolreplication, r.rolbypassrls
      from pg_roles r where r.rolname = any (${ROLES})`
    expect(roles).toHaveLength(ROLES.length)
    for (const { rolname, ...powers } of roles) expect(Object.values(powers), rolname).not.toContain(true)
    const members = await namesOf(admin<{ name: string }[]>`
      select m.member::regrole || ' in ' || m.roleid::regrole as name from pg_auth_members m
      where m.member::regrole::text = any (${ROLES})`)
    expect(members).toEqual([])
  })

  test.each(STORES)('%s owns nothing and can create nothing, anywhere, at run time', async (store) => {
    const owned = await namesOf(admin<{ name: string }[]>`
      select c.relname as name from pg_class c where c.relowner = ${store}::regrole
      union all select p.proname from pg_proc p where p.proowner = ${store}::regrole
      union all select n.nspname from pg_namespace n where n.nspowner = ${store}::regrole`)
    expect(owned).toEqual([])
    const creates = await namesOf(admin<{ name: string }[]>`
      select n.nspname as name from pg_namespace n where has_schema_privilege(${store}, n.oid, 'create')
      union all
      select 'the database' where has_database_privilege(${store}, current_database(), 'create, temporary')`)
    expect(creates).toEqual([])
  })

  test('no function is open to everybody, and only those of erasure run with their owner’s rights', async () => {
    const functions = await admin<{ name: string; definer: boolean; open: boolean }[]>`
      select n.nspname || '.' || p.proname as name, p.prosecdef as definer,
        has_function_privilege('public', p.oid, 'execute') as open
      from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname = any (${[...STORES]})`
    expect(functions.filter(({ open }) => open)).toEqual([])
    // A service may not change its audit or an identity: these change only what an erasure must.
    const definers = functions.filter(({ definer }) => definer).map(({ name }) => name)
    const audited = STORES.filter((store) => store !== 'stream') // an operator changes nothing in stream
    const forget = audited.map((store) => `${store}.forget_in_audit`)
    expect(definers.toSorted()).toEqual([...forget, 'identity.erase_agent'].toSorted())
  })
})
