import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { openDatabase } from '@svc/postgres/database.ts'
import { createMark, findMarked, type Mark } from '@svc/processes/marks.ts'
import { removeScratch } from '@svc/processes/scratch.ts'
import postgres from 'postgres'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createLogger } from '../../../libs/telemetry/src/logger.ts'
import { createAuthority } from '../../../test/support/engines/certificates.ts'
import { findTestRun } from '../../../test/support/engines/engines.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { findPostgres } from '../src/engines/binaries.ts'
import { type Engine, startPostgres } from '../src/engines/postgres.ts'
import { choosePostgresUser, placeProgram } from '../src/engines/postgres-user.ts'
import { migrateStores, prepareRoles, storeUrl } from '../src/engines/roles.ts'
import { deriveSecrets } from '../src/engines/secrets.ts'
import { STORES, type StoreName } from '../src/topology.ts'

let folder: string
let mark: Mark
let engines: Engine[]

beforeEach(async () => {
  const run = await findTestRun()
  folder = mkdtempSync(join(run.folder, 'postgres-'))
  mark = run.mark
  engines = []
})

afterEach(async () => {
  await Promise.all(engines.map((engine) => engine.stop()))
  rmSync(folder, { recursive: true, force: true })
})

async function start(): Promise<Engine> {
  const settings = { password: 'a1b2', durable: false, maxConnections: 10, sharedBuffersMib: 16, onProblem: () => {} }
  const engine = await startPostgres({ folder, mark, ...settings })
  engines.push(engine)
  return engine
}

async function query(url: string, text: string): Promise<unknown[]> {
  const sql = postgres(url, { max: 1 })
  try {
    return await sql.unsafe(text)
  } finally {
    await sql.end()
  }
}

test('a second start finds the data of the first', async () => {
  const first = await start()
  await query(first.url, 'create table kept as select 1 as one')
  expect(await first.stop()).toMatchObject({ code: 0 })
  const second = await start()
  expect(await query(second.url, 'select one from kept')).toEqual([{ one: 1 }])
})

test('kill -9 of Postgres loses nothing that was committed', async () => {
  const first = await start()
  await query(first.url, 'create table kept as select 1 as one')
  first.kill('SIGKILL')
  await first.ended
  const second = await start()
  expect(await query(second.url, 'select one from kept')).toEqual([{ one: 1 }])
})

test('a start that was killed halfway does not break the next one', async () => {
  mkdirSync(join(folder, 'postgres.01234567'))
  writeFileSync(join(folder, 'postgres.01234567', 'PG_VERSION'), '18\n')
  await start()
  expect(existsSync(join(folder, 'postgres.01234567'))).toBe(false)
})

test('a pid file with the pid of another program does not prevent a start', async () => {
  await (await start()).stop()
  writeFileSync(join(folder, 'postgres', 'postmaster.pid'), `${process.pid}\n${folder}/postgres\n1\n1\n\n\n\nready\n`)
  expect((await start()).pid).not.toBe(process.pid)
})

test('data of another major version is refused in one sentence', async () => {
  await (await start()).stop()
  writeFileSync(join(folder, 'postgres', 'PG_VERSION'), '17\n')
  await expect(start()).rejects.toThrow(/belongs to Postgres 17, but this is Postgres 18.*SVC_DATA_DIR/)
})

test('a wrong password is refused', async () => {
  const { url } = await start()
  await expect(query(url.replace('a1b2', 'b2a1'), 'select 1')).rejects.toThrow('password authentication failed')
})

test('SVC_DATABASE_URL: an operator without superuser rights can prepare it, even several at once', async () => {
  const { url } = await start()
  await query(url, "create role operator login createrole password 'c3d4'")
  await query(url, 'create database svc owner operator')
  const adminUrl = url.replace('postgres:a1b2@', 'operator:c3d4@').replace(/postgres$/, 'svc')
  const setup = { adminUrl, stores: STORES, passwordOf: deriveSecrets('test').rolePassword, schemaDirOf }
  await Promise.all([prepareRoles(setup), prepareRoles(setup), prepareRoles(setup)])
  await Promise.all([migrateStores(setup), migrateStores(setup)])
  expect(await query(storeUrl(setup, 'budget'), 'select current_user')).toEqual([{ current_user: 'budget' }])
})

test('a Postgres that only accepts TLS: roles, migrations and services with sslmode=verify-full', async () => {
  const authority = await createAuthority()
  setDefaultCACertificates([...getCACertificates('default'), authority.cert])
  const { url } = await start()
  const cluster = join(folder, 'postgres')
  const { key, cert } = await authority.issue()
  const files = { 'server.key': key, 'server.crt': cert, 'pg_hba.conf': 'hostssl all all 127.0.0.1/32 scram-sha-256\n' }
  const { uid, gid } = statSync(cluster)
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(cluster, name), text, { mode: 0o600 })
    chownSync(join(cluster, name), uid, gid)
  }
  await query(url, 'alter system set ssl = on')
  await query(url, 'select pg_reload_conf()')
  await eventually(() => expect(query(url, 'select 1')).rejects.toThrow('no encryption'))

  const logger = createLogger('test', 'silent')
  for (const parameters of ['sslmode=verify-full', 'sslmode=verify-full&sslnegotiation=direct']) {
    const adminUrl = `${url}?${parameters}`
    const setup = { adminUrl, stores: ['budget'] as const, passwordOf: deriveSecrets('test').rolePassword, schemaDirOf }
    await prepareRoles(setup)
    await migrateStores(setup)
    await using database = openDatabase({ url: storeUrl(setup, 'budget'), application: 'test', logger, poolSize: 1 })
    const rows = await database.run((sql) => sql`select ssl from pg_stat_ssl where pid = pg_backend_pid()`)
    expect(rows).toEqual([{ ssl: true }])
  }
})

test('in a database with the collation of a language, every index of text compares bytes, or only fixed words', async () => {
  const { url } = await start()
  await query(url, "create database svc template template0 locale_provider icu icu_locale 'en-US-u-kn' locale 'C'")
  const adminUrl = url.replace(/postgres$/, 'svc')
  const setup = { adminUrl, stores: STORES, passwordOf: deriveSecrets('test').rolePassword, schemaDirOf }
  await prepareRoles(setup)
  await migrateStores(setup)
  const columns = await query(
    adminUrl,
    `select distinct r.relnamespace::regnamespace::text || '.' || a.attname as column
     from pg_index i join pg_class r on r.oid = i.indrelid and not r.relispartition
     cross join unnest(i.indkey::smallint[], i.indcollation::oid[]) as u (number, id)
     join pg_attribute a on a.attrelid = r.oid and a.attnum = u.number join pg_collation c on c.oid = u.id
     where r.relnamespace = any (array['${STORES.join("','")}']::regnamespace[]) and c.collname <> 'C' order by 1`,
  )
  const fixed = ['budget.owner', 'messaging.kind', 'messaging.lane', 'webhook.key_id']
  expect(columns).toEqual(fixed.map((column) => ({ column })))
})

test('it listens only on the loopback address', async () => {
  const { url } = await start()
  expect(await query(url, 'show listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }])
  expect(await query(url, 'show unix_socket_directories')).toEqual([{ unix_socket_directories: '' }])
})

function schemaDirOf(store: StoreName): string {
  return fileURLToPath(new URL(`../../../services/${store}/database`, import.meta.url))
}

describe.runIf(process.getuid?.() === 0)('as root', () => {
  test('Postgres runs as another user, on data in a folder that only root can enter', async () => {
    chmodSync(folder, 0o700)
    const { url, pid } = await start()
    expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }])
    expect(findMarked(mark.stack).map((found) => found.pid)).toContain(pid)
    expect(choosePostgresUser(join(folder, 'postgres')).uid).toBeGreaterThan(0)
  })

  test('a program in a folder that only root can enter is copied, and the copy is removed with the run', async () => {
    const hidden = join(folder, 'hidden')
    mkdirSync(hidden, { mode: 0o700 })
    cpSync(dirname(dirname(await findPostgres())), join(hidden, 'native'), { recursive: true, verbatimSymlinks: true })
    const program = join(hidden, 'native', 'bin', 'postgres')
    const own = createMark(folder)
    const placed = placeProgram(program, { uid: 65534, gid: 65534 }, own)
    expect(placed).not.toBe(program)
    expect(existsSync(placed)).toBe(true)
    removeScratch(own)
    expect(existsSync(placed)).toBe(false)
  })
})
