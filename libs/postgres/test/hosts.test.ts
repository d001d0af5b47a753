/** Several hosts, of which one is the primary, and connections to a server that stops accepting writes. */
import { once } from 'node:events'
import { mkdirSync, mkdtempSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { createLogger } from '@svc/telemetry/logger.ts'
import { createTestDatabase, type TestDatabase } from '@svc/test/support/engines/database.ts'
import { findTestRun, takePorts } from '@svc/test/support/engines/engines.ts'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type Database, openDatabase } from '../src/database.ts'
import { migrate } from '../src/migration/migrate.ts'

let stored: TestDatabase
beforeAll(async () => {
  stored = await createTestDatabase([])
})
afterAll(() => stored?.[Symbol.asyncDispose]())

const OK = message('R', Buffer.alloc(4))
const READY = message('Z', Buffer.from('I'))
const STANDBY = Buffer.concat([
  OK,
  parameter('in_hot_standby', 'on'),
  parameter('default_transaction_read_only', 'off'),
  READY,
])
const STARTING = message('E', Buffer.from('SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0'))

function message(type: string, body: Buffer): Buffer {
  const head = Buffer.from(`${type}\0\0\0\0`)
  head.writeUInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

function parameter(name: string, value: string): Buffer {
  return message('S', Buffer.from(`${name}\0${value}\0`))
}

interface StandIn {
  readonly host: string
  readonly begun: () => number
}

/** A server that greets like one that cannot serve. @param greeting nothing for a server that never answers. */
async function startStandIn(greeting?: Buffer): Promise<StandIn> {
  let begun = 0
  const server = createServer((socket) => {
    begun += 1
    socket.on('error', () => {})
    socket.once('data', () => {
      if (greeting === STARTING) socket.end(greeting)
      else if (greeting !== undefined) socket.write(greeting)
    })
    onTestFinished(() => void socket.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, begun: () => begun }
}

function urlWith(...hosts: string[]): string {
  const { host } = new URL(stored.adminUrl)
  return stored.adminUrl.replace(host, hosts.join(','))
}

function open(url: string, poolSize = 4): Database {
  const database = openDatabase({ url, application: 'test', logger: createLogger('test', 'silent'), poolSize })
  onTestFinished(() => database[Symbol.asyncDispose]())
  return database
}

const primary = (): string => new URL(stored.adminUrl).host
const ask = (database: Database): Promise<unknown> => database.run((sql) => sql`select pg_sleep(0.01)`)

test('a standby is skipped, and later connections first try the host that accepted writes', async () => {
  const standby = await startStandIn(STANDBY)
  const database = open(urlWith(standby.host, primary()))
  await ask(database)
  expect(standby.begun()).toBe(1)
  await Promise.all(Array.from({ length: 12 }, () => ask(database)))
  expect(standby.begun()).toBe(1)
})

test('spec 3.17: if there are only standbys, a query is unavailable at once and is not sent', async () => {
  const standbys = [await startStandIn(STANDBY), await startStandIn(STANDBY)]
  const database = open(urlWith(...standbys.map(({ host }) => host)))
  await expect(ask(database)).rejects.toMatchObject({ code: 'unavailable', cause: { code: 'TARGET_SESSION_ATTRS' } })
})

test('spec 3.17: if no host can be reached, a query is unavailable after each host was tried', async () => {
  const port = await takePorts(2)
  const database = open(urlWith(`127.0.0.1:${port}`, `127.0.0.1:${port + 1}`))
  await expect(ask(database)).rejects.toMatchObject({ code: 'unavailable', cause: { code: 'ECONNREFUSED' } })
})

test('a host that is starting is skipped', async () => {
  const starting = await startStandIn(STARTING)
  await ask(open(urlWith(starting.host, primary())))
  expect(starting.begun()).toBe(1)
})

test('a host that does not answer is skipped, within the time of one query', async () => {
  const silent = await startStandIn()
  await ask(open(urlWith(silent.host, primary())))
  expect(silent.begun()).toBe(1)
})

test('spec 3.17: a connection that no longer accepts writes is closed with its first refusal', async () => {
  const database = open(stored.adminUrl, 1)
  const write = (): Promise<unknown> => database.run((sql) => sql`create table if not exists public.written ()`)
  await write()
  await database.run((sql) => sql`set default_transaction_read_only = on`)
  await expect(write()).rejects.toMatchObject({ code: 'unavailable', cause: { code: '25006' } })
  await write()
})

test('such a connection is also closed if it refuses a transaction', async () => {
  const database = open(stored.adminUrl, 1)
  await database.run((sql) => sql`set default_transaction_read_only = on`)
  const write = (): Promise<unknown> => database.transaction((tx) => tx`create table if not exists public.written ()`)
  await expect(write()).rejects.toMatchObject({ code: 'unavailable', cause: { code: '25006' } })
  await write()
})

test('a migration takes the host that can be written to, and no pooler', async () => {
  const dir = mkdtempSync(join((await findTestRun()).folder, 'database-'))
  mkdirSync(join(dir, 'tables'))
  const away = `127.0.0.1:${await takePorts()}`
  await migrate({ url: urlWith(away, primary()), schema: 'public', dir })
  await expect(migrate({ url: urlWith(away), schema: 'public', dir })).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  const pooled = migrate({ url: `${urlWith(primary())}?pooler=transaction`, schema: 'public', dir })
  await expect(pooled).rejects.toThrow('a URL of Postgres itself')
})
