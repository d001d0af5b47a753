/** URLs as hosters give them, and roles as hosters make them. */
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createLogger } from '@svc/telemetry/logger.ts'
import { createTestDatabase, type TestDatabase } from '@svc/test/support/engines/database.ts'
import { findTestRun } from '@svc/test/support/engines/engines.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openDatabase } from '../src/database.ts'
import { migrate } from '../src/migration/migrate.ts'
import { CLIENTS, outcomeOf } from './clients.ts'

let stored: TestDatabase
beforeAll(async () => {
  stored = await createTestDatabase([])
})
afterAll(() => stored?.[Symbol.asyncDispose]())

const logger = createLogger('test', 'silent')

describe.each(Object.entries(CLIENTS))('%s', (_client, connect) => {
  test.each([
    [
      'sslmode=require&channel_binding=require',
      'has channel_binding=require, which is not supported: processes cannot',
    ],
    ['sslmode=disable&connection_limit=1', 'has connection_limit, which is not supported: set SVC_DATABASE_POOL'],
    ['statement_timeout=5', 'has statement_timeout, which is no parameter of Postgres'],
    ['host=/var/run/postgresql', 'names a Unix socket, which is not supported'],
  ])('refuses a URL with %s before it connects', async (parameters, problem) => {
    expect(await outcomeOf(connect(`${stored.adminUrl}?${parameters}`))).toContain(problem)
  })

  test('logs each parameter that changes nothing', async () => {
    const lines: string[] = []
    const url = `${stored.adminUrl}?sslmode=disable&channel_binding=prefer&connect_timeout=10&options=-c%20work_mem%3D5MB`
    expect(await outcomeOf(connect(url, (line) => lines.push(line)))).toBe('connected')
    expect(lines.filter((line) => line.includes('changes nothing'))).toEqual([
      expect.stringContaining('SVC_DATABASE_URL: channel_binding changes nothing: '),
      expect.stringContaining('SVC_DATABASE_URL: connect_timeout changes nothing: '),
    ])
  })

  test('reads login, host and database from parameters too', async () => {
    const { host, username, password, pathname } = new URL(stored.adminUrl)
    const [name, port] = host.split(':')
    const parameters = `host=${name}&port=${port}&user=${username}&password=${password}&dbname=${pathname.slice(1)}`
    expect(await outcomeOf(connect(`postgres://nobody:wrong@nowhere.invalid/none?${parameters}`))).toBe('connected')
  })
})

test('options and application_name of the URL reach the sessions of services and of migrations', async () => {
  const url = `${stored.adminUrl}?application_name=of%20mine&options=-c%20work_mem%3D5MB%20-c%20a.b=c+d`
  await using database = openDatabase({ url, application: 'test', logger, poolSize: 1 })
  const settings = { work_mem: '5MB', application_name: 'of mine', own: 'c+d' }
  const read = `select current_setting('work_mem') as work_mem, current_setting('application_name') as application_name,
    current_setting('a.b') as own`
  expect(await database.run((sql) => sql.unsafe(read))).toEqual([settings])
  await migrate({ url, schema: 'settings', dir: await folderWith(`create table settings.seen as ${read}`) })
  expect(await database.run((sql) => sql`select * from settings.seen`)).toEqual([settings])
})

test('a migration is not bound by the deadlines that a hoster gave the role', async () => {
  const { adminUrl } = stored
  await using admin = openDatabase({ url: adminUrl, application: 'test', logger, poolSize: 1 })
  await admin.run((sql) => sql.unsafe("create role hosted login createrole password 'c3d4'"))
  await admin.run((sql) =>
    sql.unsafe(`grant connect, create on database "${new URL(adminUrl).pathname.slice(1)}" to hosted`),
  )
  for (const name of ['statement_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout'])
    await admin.run((sql) => sql.unsafe(`alter role hosted set ${name} = '100ms'`))
  const url = new URL(adminUrl)
  url.username = 'hosted'
  url.password = 'c3d4'
  try {
    await migrate({ url: url.href, schema: 'hosted', dir: await folderWith('select pg_sleep(0.3)') })
    expect(await admin.run((sql) => sql`select name from hosted.migrations`)).toEqual([{ name: '0100_one' }])
  } finally {
    await admin.run((sql) => sql.unsafe('drop owned by hosted cascade'))
    await admin.run((sql) => sql.unsafe('drop role hosted'))
  }
})

/** A folder with one migration. */
async function folderWith(statement: string): Promise<string> {
  const dir = mkdtempSync(join((await findTestRun()).folder, 'database-'))
  mkdirSync(join(dir, 'tables'))
  writeFileSync(join(dir, 'tables', '0100_one.sql'), `${statement};\n`)
  return dir
}
