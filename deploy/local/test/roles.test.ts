import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/support/engines/database.ts'
import { STORES, type StoreName } from '../src/topology.ts'

let database: TestDatabase
const connections = new Map<StoreName, postgres.Sql>()
const tables = new Map<StoreName, string>()

beforeAll(async () => {
  database = await createTestDatabase(STORES)
  const admin = postgres(database.adminUrl, { max: 1 })
  for (const store of STORES) {
    connections.set(store, postgres(database.urlFor(store), { max: 1, onnotice: () => {} }))
    const [row] = await admin<{ name: string }[]>`
      select format('%I.%I', schemaname, tablename) as name from pg_tables
      where schemaname = ${store} and tablename not in ('migrations', 'functions') order by tablename`
    tables.set(store, row?.name ?? '')
  }
  await admin.end()
})

afterAll(async () => {
  await Promise.all([...connections.values()].map((sql) => sql.end()))
  await database[Symbol.asyncDispose]()
})

/** Whether the store's role may run the statement. Its effect is rolled back. */
async function may(store: StoreName, statement: string): Promise<boolean> {
  const undo = new Error('undone')
  try {
    await connections.get(store)?.begin(async (sql) => {
      await sql.unsafe(statement)
      throw undo
    })
    return true
  } catch (error) {
    if (error === undo) return true
    if (error instanceof postgres.PostgresError && error.code === '42501') return false
    throw error
  }
}

describe('a database role is limited to its own schema', () => {
  test.each(STORES)('%s uses its tables', async (store) => {
    expect(await may(store, `select from ${tables.get(store)}`)).toBe(true)
  })

  test.each(STORES)('%s cannot alter its tables, or create objects anywhere', async (store) => {
    const table = tables.get(store)
    for (const statement of [
      `drop table ${table}`,
      `alter table ${table} add column x int`,
      `create table ${store}.x ()`,
      'create table public.x ()',
      'create schema x',
      'create role x',
      'create temporary table x ()',
    ]) {
      expect(await may(store, statement), statement).toBe(false)
    }
  })

  const PAIRS = STORES.flatMap((store) =>
    STORES.filter((other) => other !== store).map((other) => [store, other] as const),
  )
  test.each(PAIRS)('%s cannot read %s', async (store, other) => {
    expect(await may(store, `select from ${tables.get(other)}`)).toBe(false)
    expect(await may(store, `set role ${other}`)).toBe(false)
    expect(await may(store, `set role ${store}_owner`)).toBe(false)
  })
})
