import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTestDatabase, type TestDatabase } from '@svc/test/support/database.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { migrate } from '../src/migrate.ts'

let database: TestDatabase
let sql: postgres.Sql
let dir: string
beforeAll(async () => {
  database = await createTestDatabase(['budget'])
  sql = postgres(database.urlFor('budget_owner'), { max: 4, onnotice: () => {} })
  dir = mkdtempSync(join(tmpdir(), 'svc-migrate-'))
})
afterAll(async () => {
  await sql?.end({ timeout: 5 })
  await database?.[Symbol.asyncDispose]()
  rmSync(dir, { recursive: true, force: true })
})

/** A schema of its own would need a role of its own: the files go behind those of budget, to other tables. */
function files(statements: Record<string, string>): string {
  const folder = mkdtempSync(join(dir, 'files-'))
  for (const [name, text] of Object.entries(statements)) writeFileSync(join(folder, `${name}.sql`), text)
  return folder
}

const up = (folder: string): Promise<void> =>
  migrate({ url: database.urlFor('budget_owner'), schema: 'budget', dir: folder })

/** The names that stand in `budget.migrations` keep their order, so each test begins anew. */
async function begin(tables: string[]): Promise<void> {
  await sql`delete from budget.migrations`
  for (const table of tables) {
    await sql.unsafe(`drop table if exists budget.${table}`)
    await sql.unsafe(`create table budget.${table} (id bigint)`)
  }
}

const untilWaiting = (table: string): Promise<unknown> =>
  eventually(async () => {
    const waiting = await sql`
      select from pg_locks l join pg_class c on c.oid = l.relation where c.relname = ${table} and not l.granted`
    return waiting.length > 0
  })

describe('a migration under load', () => {
  test('lets those behind it go on while somebody keeps a table, and comes to its end afterwards', async () => {
    await begin(['one'])
    const holder = await sql.reserve()
    await holder`begin`
    await holder`select from budget.one`
    const migrated = up(
      files({
        '0001_first': 'create table budget.done (id bigint);',
        '0002_one': 'alter table budget.one add column more text;',
      }),
    )
    await untilWaiting('one')
    const begun = performance.now()
    await sql`select from budget.one`
    expect(performance.now() - begun).toBeLessThan(10_000)
    await holder`commit`
    holder.release()
    await migrated
    expect(await sql`select more from budget.one`).toEqual([])
    expect((await sql`select name from budget.migrations order by id`).map(({ name }) => name)).toEqual([
      '0001_first',
      '0002_one',
    ])
    await sql`drop table budget.done`
  })

  test('is begun again where it and a service wait for each other, and the service goes on', async () => {
    await begin(['one', 'two'])
    const service = await sql.reserve()
    await service`begin`
    await service`insert into budget.two values (1)`
    const migrated = up(
      files({
        '0001_both': 'alter table budget.one add column more text; alter table budget.two add column more text;',
      }),
    )
    await untilWaiting('two')
    await service`insert into budget.one values (1)`
    await service`commit`
    service.release()
    await migrated
    expect(await sql`select one.more, two.more from budget.one, budget.two`).toHaveLength(1)
  })

  test('fails at once where it is wrong', async () => {
    await begin([])
    await expect(up(files({ '0001_wrong': 'alter table budget.absent add column more text;' }))).rejects.toThrow(
      'absent',
    )
  })
})
