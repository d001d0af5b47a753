import { mkdirSync, mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { createLogger, type Logger } from '@svc/telemetry/logger.ts'
import { type Authority, type CertificateOptions, createAuthority } from '@svc/test/support/engines/certificates.ts'
import { createTestDatabase, type TestDatabase } from '@svc/test/support/engines/database.ts'
import { findTestRun } from '@svc/test/support/engines/engines.ts'
import { type DoorOptions, openDoor } from '@svc/test/support/stand-ins/postgres-tls.ts'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openDatabase } from '../src/database.ts'
import { migrate } from '../src/migration/migrate.ts'
import { prepareRoles } from '../src/migration/roles.ts'

let authority: Authority
let stranger: Authority
let stored: TestDatabase
let emptyFolder: string

beforeAll(async () => {
  authority = await createAuthority()
  stranger = await createAuthority('another authority')
  setDefaultCACertificates([...getCACertificates('default'), authority.cert])
  stored = await createTestDatabase([])
  emptyFolder = mkdtempSync(join((await findTestRun()).folder, 'database-'))
  mkdirSync(join(emptyFolder, 'tables'))
})
afterAll(() => stored[Symbol.asyncDispose]())

const logged: string[] = []
const logger = createLogger('test', 'silent') as Logger
logger.error = (line: unknown) => void logged.push(String(line))

/** Everything that connects to Postgres, by its client. */
const CLIENTS: Readonly<Record<string, (url: string) => Promise<unknown>>> = {
  'a service (postgres)': async (url) => {
    await using database = openDatabase({ url, application: 'test', logger, poolSize: 1 })
    await database.run((sql) => sql`select 1`).catch((error: Error) => Promise.reject(error.cause ?? error))
  },
  'a migration (pg)': (url) => migrate({ url, schema: 'public', dir: emptyFolder }),
  'the roles (postgres)': (adminUrl) => prepareRoles({ adminUrl, stores: [], passwordOf: () => '' }),
}

async function open(options: DoorOptions, { host = 'localhost', sslmode = '' } = {}) {
  const door = await openDoor(options)
  onTestFinished(() => door[Symbol.asyncDispose]())
  const url = new URL(stored.adminUrl)
  url.host = `${host}:${door.port}`
  if (sslmode !== '') url.searchParams.set('sslmode', sslmode)
  return { door, url: url.href }
}

const outcomeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'connected',
    (error: Error) => error.message,
  )

describe.each(Object.entries(CLIENTS))('%s', (_client, connect) => {
  const toPort = (): number => Number(new URL(stored.adminUrl).port)

  test.each([
    ['', 'plain'],
    ['disable', 'plain'],
    ['require', 'tls'],
    ['verify-full', 'tls'],
  ])('sslmode=%s connects: %s', async (sslmode, begun) => {
    const credentials = await (sslmode === 'require' ? stranger : authority).issue()
    const { door, url } = await open({ credentials, toPort: toPort() }, { sslmode })
    expect(await outcomeOf(connect(url))).toBe('connected')
    expect(new Set(door.begun)).toEqual(new Set([begun]))
  })

  test.each([['require'], ['verify-full']])('sslmode=%s sends nothing to a server without TLS', async (sslmode) => {
    const { door, url } = await open({}, { sslmode })
    expect(await outcomeOf(connect(url))).toBe(
      `Postgres at localhost:${door.port} offers no TLS, but SVC_DATABASE_URL requires it: turn TLS on there. Write sslmode=disable only if everybody on the network may read the password.`,
    )
    expect([new Set(door.begun), door.receivedBytes()]).toEqual([new Set(['tls']), 0])
  })

  test.each<[string, () => Authority, CertificateOptions, string, string]>([
    ['an unknown authority', () => stranger, {}, 'localhost', 'from an authority that this process does not trust'],
    ['an expired certificate', () => authority, { expired: true }, 'localhost', 'has expired: renew it'],
    ['a wrong name', () => authority, { names: ['db.test'] }, 'localhost', 'is for another host (DNS:db.test'],
    ['a wrong address', () => authority, { addresses: [] }, '127.0.0.1', 'is for another host (DNS:localhost)'],
  ])('sslmode=verify-full sends nothing to a server with %s', async (_, issuer, certificate, host, problem) => {
    const credentials = await issuer().issue(certificate)
    const { door, url } = await open({ credentials, toPort: toPort() }, { host, sslmode: 'verify-full' })
    expect(await outcomeOf(connect(url))).toContain(problem)
    expect(door.receivedBytes()).toBe(0)
  })

  test('sslmode=verify-full connects by an address that the certificate names', async () => {
    const credentials = await authority.issue({ names: [] })
    const { url } = await open({ credentials, toPort: toPort() }, { host: '127.0.0.1', sslmode: 'verify-full' })
    expect(await outcomeOf(connect(url))).toBe('connected')
  })
})

test('a service logs once why TLS fails, and its queries are unavailable', async () => {
  const { url } = await open({}, { sslmode: 'verify-full' })
  logged.length = 0
  await using database = openDatabase({ url, application: 'test', logger, poolSize: 1 })
  for (let query = 0; query < 3; query += 1)
    await expect(database.run((sql) => sql`select 1`)).rejects.toMatchObject({ code: 'unavailable' })
  expect(logged).toEqual([expect.stringContaining('offers no TLS')])
})
