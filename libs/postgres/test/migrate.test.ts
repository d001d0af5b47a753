import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTestDatabase, type TestDatabase } from '@svc/test/support/engines/database.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Sql } from '../src/database.ts'
import { migrate } from '../src/migration/migrate.ts'
import { findMissing } from '../src/migration/migrated.ts'
import { readSchemaFiles } from '../src/migration/schema-files.ts'

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

/** A separate schema would need a separate role. So the files use budget's schema, with later numbers and other objects. */
function files(tables: Record<string, string>, functions: Record<string, string> = {}): string {
  const folder = mkdtempSync(join(dir, 'files-'))
  mkdirSync(join(folder, 'tables'))
  mkdirSync(join(folder, 'functions'))
  for (const [name, text] of Object.entries(tables)) writeFileSync(join(folder, `tables/${name}.sql`), text)
  for (const [name, text] of Object.entries(functions)) writeFileSync(join(folder, `functions/${name}.sql`), text)
  return folder
}

/** The file of a function that returns a number. */
const answering = (name: string, answer: string, revision = 1): string =>
  `-- budget.${name}, revision ${revision}\ncreate or replace function budget.${name}() returns bigint language sql as $$ select ${answer} $$;\n`

const up = (folder: string, log?: (line: string) => void): Promise<void> =>
  migrate({
    url: database.urlFor('budget_owner'),
    schema: 'budget',
    dir: folder,
    ...(log === undefined ? {} : { log }),
  })

/** Removes the records of earlier tests, because recorded names must stay in order. */
async function begin(tables: string[]): Promise<void> {
  await sql`delete from budget.migrations`
  await sql`delete from budget.functions`
  for (const table of tables) {
    await sql.unsafe(`drop table if exists budget.${table}`)
    await sql.unsafe(`create table budget.${table} (id bigint)`)
  }
}

const ask = async (name: string): Promise<number> => {
  const [row] = await sql<{ answer: string }[]>`select ${sql(`budget.${name}`)}() as answer`
  return Number(row?.answer)
}

const untilWaiting = (table: string): Promise<unknown> =>
  eventually(async () => {
    const waiting = await sql`
      select from pg_locks l join pg_class c on c.oid = l.relation where c.relname = ${table} and not l.granted`
    return waiting.length > 0
  })

/** Until an index is being dropped or built, and waits for the transactions of others. */
const untilIndexWaits = (): Promise<unknown> =>
  eventually(async () => {
    const waiting = await sql`
      select from pg_stat_activity where datname = current_database() and wait_event = 'virtualxid' and query like '%concurrently%'`
    return waiting.length > 0
  })

describe('a migration under load', () => {
  test('lets others continue while a transaction locks a table, and finishes afterwards', async () => {
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

  test('is retried if it deadlocks with a service, and the service continues', async () => {
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

  test('without a transaction waits as long as it takes while others write, and begins again after a failure', async () => {
    await begin(['one'])
    const folder = files({
      '0001_index': `-- without a transaction
        drop index concurrently if exists budget.one_id;
        create unique index concurrently one_id on budget.one (id);`,
      '0002_one': 'alter table budget.one add column more text;',
    })
    await sql`insert into budget.one values (1), (1)`
    await expect(up(folder)).rejects.toThrow('could not create unique index')
    await sql`delete from budget.one`
    const holder = await sql.reserve()
    await holder`begin`
    await holder`insert into budget.one values (2)`
    const migrated = up(folder)
    await untilIndexWaits()
    await sql`insert into budget.one values (3)`
    // Longer than a file with a transaction would wait.
    await sql`select pg_sleep(1)`
    await untilIndexWaits()
    await holder`commit`
    holder.release()
    await migrated
    expect(await sql`select indisvalid from pg_index where indexrelid = 'budget.one_id'::regclass`).toEqual([
      { indisvalid: true },
    ])
    expect(await sql`select id, more from budget.one order by id`).toHaveLength(2)
  })

  test('fails at once if it is wrong', async () => {
    await begin([])
    await expect(up(files({ '0001_wrong': 'alter table budget.absent add column more text;' }))).rejects.toThrow(
      'absent',
    )
  })
})

describe('functions', () => {
  test('are replaced if their text has changed, and only then', async () => {
    await begin([])
    await up(files({}, { kept: answering('kept', '1'), changed: answering('changed', '1') }))
    const made = await sql`select name, revision, changed_at from budget.functions where name = 'kept'`
    const lines: string[] = []
    await up(files({}, { kept: answering('kept', '1'), changed: answering('changed', '2') }), (line) =>
      lines.push(line),
    )
    expect([await ask('kept'), await ask('changed')]).toEqual([1, 2])
    expect(lines.filter((line) => line.startsWith('budget.'))).toEqual(['budget.changed: revision 1'])
    expect(await sql`select name, revision, changed_at from budget.functions where name = 'kept'`).toEqual(made)
  })

  test('may call each other in any order of their names', async () => {
    await begin([])
    await up(files({}, { calls: answering('calls', 'budget.is_called() + 1'), is_called: answering('is_called', '1') }))
    expect(await ask('calls')).toBe(2)
  })

  test('are created after the tables that they need', async () => {
    await begin([])
    const tables = { '0001_needed': 'create table budget.needed (id bigint);' }
    await up(files(tables, { counts: answering('counts', 'count(*) from budget.needed') }))
    expect(await ask('counts')).toBe(0)
    await sql`drop table budget.needed`
  })

  test('ADR 23: the migration step of an older release leaves the text of a later one', async () => {
    await begin([])
    await up(files({}, { versioned: answering('versioned', '1') }))
    await up(files({}, { versioned: answering('versioned', '2', 2) }))
    const lines: string[] = []
    await up(files({}, { versioned: answering('versioned', '1') }), (line) => lines.push(line))
    expect(await ask('versioned')).toBe(2)
    expect(lines).toContain('budget.versioned stays at revision 2, of a later release')
  })

  test('that were dropped since are created again', async () => {
    await begin([])
    const folder = files({}, { gone: answering('gone', '1') })
    await up(folder)
    await sql`drop function budget.gone()`
    await up(folder)
    expect(await ask('gone')).toBe(1)
  })

  test.each([
    ['a body that names a missing object', answering('wrong', 'absent'), /functions\/wrong\.sql of budget: .*absent/],
    ['no statement', '-- budget.wrong, revision 1\nselect 1;\n', /creates none/],
    ['no revision', answering('wrong', '1').replace(', revision 1', ''), /must begin with the line "-- budget.wrong/],
    ['another name', answering('other', '1'), /must begin with the line "-- budget.wrong/],
    ['two functions', `${answering('wrong', '1')}${answering('other', '1')}`, /creates budget.wrong, budget.other/],
  ])('with %s fail, and none is changed', async (_, text, reason) => {
    await begin([])
    await up(files({}, { before: answering('before', '1') }))
    await expect(up(files({}, { before: answering('before', '2'), wrong: text }))).rejects.toThrow(reason)
    expect(await ask('before')).toBe(1)
    expect(await sql`select name from budget.functions`).toEqual([{ name: 'before' }])
  })

  test('are created once by two processes that migrate at once', async () => {
    await begin([])
    const folder = files(
      { '0001_once': 'create table budget.once (id bigint);' },
      { first: answering('first', '1'), second: answering('second', 'budget.first() + 1') },
    )
    const lines: string[] = []
    await Promise.all([up(folder, (line) => lines.push(line)), up(folder, (line) => lines.push(line))])
    expect(lines.filter((line) => line.startsWith('budget.'))).toEqual([
      'budget.first: revision 1',
      'budget.second: revision 1',
    ])
    expect(await ask('second')).toBe(2)
    await sql`drop table budget.once`
  })

  test('are all old or all new if the process dies in between, and the next one does the rest', async () => {
    await begin([])
    const old = { one: answering('one', '1'), two: answering('two', '1') }
    await up(files({}, old))
    const folder = files(
      { '0001_between': 'create table budget.between_them (id bigint);' },
      { one: answering('one', '2'), two: answering('two', '2') },
    )
    const holder = await sql.reserve()
    await holder`begin`
    await holder`select from budget.functions where name = 'two' for update`
    const migrated = up(folder).then(
      () => 'done',
      () => 'dead',
    )
    // The table exists, and so does the first of the two functions.
    const [waiting] = await eventually(async () => {
      const found = await sql<{ pid: number }[]>`
        select pid from pg_stat_activity
        where pid <> pg_backend_pid() and wait_event_type = 'Lock' and query like '%budget%functions%'
          and datname = current_database()`
      return found.length > 0 && found
    })
    await sql`select pg_terminate_backend(${waiting?.pid ?? 0})`
    expect(await migrated).toBe('dead')
    expect([await ask('one'), await ask('two')]).toEqual([1, 1])
    await holder`rollback`
    holder.release()
    await up(folder)
    expect([await ask('one'), await ask('two')]).toEqual([2, 2])
    await sql`drop table budget.between_them`
  })
})

test('a numbered file that was overtaken is refused; a recorded name without a file is not', async () => {
  await begin([])
  await sql`insert into budget.migrations (name, run_on) values ('0002_without-a-file', now())`
  await expect(up(files({ '0001_late': 'select 1;' }))).rejects.toThrow(
    '0001_late must come after 0002_without-a-file, which was run in budget: raise its number',
  )
  await up(files({ '0003_next': 'select 1;' }))
  expect((await sql`select name from budget.migrations order by id`).map(({ name }) => name)).toEqual([
    '0002_without-a-file',
    '0003_next',
  ])
})

test('ADR 23: a schema from before the baseline is refused, and nothing is changed', async () => {
  await begin([])
  const functions = { changed: answering('changed', '1') }
  await up(files({ '0001_before': 'select 1;' }, functions))
  const folder = files(
    { '0100_baseline': 'create table budget.baseline (id bigint);' },
    { changed: answering('changed', '2') },
  )
  await expect(up(folder)).rejects.toThrow(
    /^the schema budget has the tables of an earlier version, .*: begin with an empty database$/,
  )
  expect(await ask('changed')).toBe(1)
  expect((await sql`select name from budget.migrations`).map(({ name }) => name)).toEqual(['0001_before'])

  await begin([])
  await up(folder)
  await up(folder)
  expect(await ask('changed')).toBe(2)
})

test('the schema is complete with its tables and functions, and with those of a later release', async () => {
  await begin([])
  const tables = { '0001_needed': 'select 1;' }
  const needed = readSchemaFiles(files(tables, { needed: answering('needed', '1', 2) }), 'budget')
  const missing = (): Promise<string | undefined> => findMissing(sql as unknown as Sql, 'budget', needed)

  expect(await missing()).toBe('migration 0001_needed')
  await up(files(tables))
  expect(await missing()).toBe('function needed, revision 2')
  await up(files(tables, { needed: answering('needed', '1', 1) }))
  expect(await missing()).toBe('function needed, revision 2')
  await up(files({ ...tables, '0002_later': 'select 1;' }, { needed: answering('needed', '3', 3) }))
  expect(await missing()).toBeUndefined()
})
