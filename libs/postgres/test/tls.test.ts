import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { createLogger, type Logger } from '@svc/telemetry/logger.ts'
import { type Authority, type CertificateOptions, createAuthority } from '@svc/test/support/engines/certificates.ts'
import { createTestDatabase, type TestDatabase } from '@svc/test/support/engines/database.ts'
import { type DoorOptions, openDoor } from '@svc/test/support/stand-ins/postgres-tls.ts'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openDatabase } from '../src/database.ts'
import { CLIENTS, outcomeOf } from './clients.ts'

let authority: Authority
let stranger: Authority
let stored: TestDatabase

beforeAll(async () => {
  authority = await createAuthority()
  stranger = await createAuthority('another authority')
  setDefaultCACertificates([...getCACertificates('default'), authority.cert])
  stored = await createTestDatabase([])
})
afterAll(() => stored[Symbol.asyncDispose]())

async function open(options: DoorOptions, { host = 'localhost', sslmode = '' } = {}) {
  const door = await openDoor(options)
  onTestFinished(() => door[Symbol.asyncDispose]())
  const url = new URL(stored.adminUrl)
  url.host = `${host}:${door.port}`
  if (sslmode !== '') url.searchParams.set('sslmode', sslmode)
  return { door, url: url.href }
}

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
  const logged: string[] = []
  const logger = createLogger('test', 'silent') as Logger
  logger.error = (line: unknown) => void logged.push(String(line))
  await using database = openDatabase({ url, application: 'test', logger, poolSize: 1 })
  for (let query = 0; query < 3; query += 1)
    await expect(database.run((sql) => sql`select 1`)).rejects.toMatchObject({ code: 'unavailable' })
  expect(logged).toEqual([expect.stringContaining('offers no TLS')])
})
