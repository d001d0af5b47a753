import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createLogger, type Logger } from '@svc/telemetry/logger.ts'
import { type Authority, createAuthority } from '@svc/test/support/engines/certificates.ts'
import { findTestRun, startConfiguredNats } from '@svc/test/support/engines/engines.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { type ImpostorOptions, startImpostor } from '@svc/test/support/stand-ins/nats-impostor.ts'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { connectNats, drainNats } from '../src/connect.ts'

const PASSWORD = 'the-password'
const NO_TLS = 'turn TLS on there'
const run = promisify(execFile)

let authority: Authority
let stranger: Authority
/** Starts an impostor and stops it after the test. */
const start = async (options: ImpostorOptions = {}) => {
  const server = await startImpostor(options)
  onTestFinished(() => server[Symbol.asyncDispose]())
  return server
}
const urlFor = (port: number, { scheme = 'tls', host = 'localhost' } = {}): string =>
  `${scheme}://gateway:${PASSWORD}@${host}:${port}`

beforeAll(async () => {
  authority = await createAuthority()
  stranger = await createAuthority('another authority')
  setDefaultCACertificates([...getCACertificates('default'), authority.cert])
})

/** Connects like a tool that an operator waits for. */
async function refusalOf(url: string): Promise<string> {
  const nats = await connectNats({
    url,
    name: 'test',
    logger: createLogger('test', 'silent'),
    firstConnectMs: 5_000,
  }).catch((error: Error) => error.message)
  if (typeof nats === 'string') return nats
  await drainNats(nats)
  return 'connected'
}

/** Connects like a service, which waits for its connection. @returns the log lines from `warn` up. */
function connectService(url: string) {
  const lines: string[] = []
  const logger = createLogger('test', 'silent') as Logger
  logger.error = (line: unknown) => void lines.push(String(line))
  const connecting = connectNats({ url, name: 'test', logger })
  onTestFinished(async () => drainNats(await connecting, 100))
  return { connecting, lines }
}

describe('a server gets nothing before it has proved its identity', () => {
  test('a server that offers no TLS', async () => {
    const server = await start()
    expect(await refusalOf(urlFor(server.port))).toBe(
      `NATS at localhost:${server.port} offers no TLS, but SVC_NATS_URL requires it: turn TLS on there. Write nats:// instead of tls:// only if everybody on the network may read the password.`,
    )
    expect([server.connections(), server.received()]).toEqual([1, ''])
  })

  test.each([
    ['an unknown authority', () => stranger.issue(), {}, 'from an authority that this process does not trust'],
    ['an expired certificate', () => authority.issue({ expired: true }), {}, 'has expired: renew it'],
    [
      'a wrong name',
      () => authority.issue({ names: ['db.test'] }),
      {},
      'is for another host (DNS:db.test, IP Address:127.0.0.1)',
    ],
    [
      'a wrong address',
      () => authority.issue({ addresses: [] }),
      { host: '127.0.0.1' },
      'is for another host (DNS:localhost)',
    ],
  ])('a server with %s', async (_, issue, address, problem) => {
    const server = await start({ credentials: await issue() })
    expect(await refusalOf(urlFor(server.port, address))).toContain(problem)
    expect(server.received()).toBe('')
  })
})

test('a service logs why it cannot connect, retries, and connects when the server has TLS', async () => {
  const credentials = await authority.issue()
  const plain = await start()
  const { port } = plain
  const { connecting, lines } = connectService(urlFor(port))
  await eventually(() => plain.connections() >= 3)
  expect(plain.received()).toBe('')
  await plain[Symbol.asyncDispose]()
  const refusing = await start({ port, credentials, refusing: true })
  await eventually(() => refusing.connections() >= 2)
  await refusing[Symbol.asyncDispose]()
  const secured = await start({ port, credentials })
  expect((await connecting).isConnected()).toBe(true)
  expect(secured.received()).toContain(PASSWORD)
  const login = `NATS at localhost:${port} refuses the login in SVC_NATS_URL: compare user and password.`
  // A server that stops during a handshake resets the connection, and the service logs that too.
  const told = lines.filter((line) => !line.includes('reset the connection'))
  expect(told).toEqual([expect.stringContaining(NO_TLS), login])
})

test('a lost connection is reopened with TLS or not at all, also to servers that the cluster announces', async () => {
  const host = '127.0.0.1'
  const plain = await start()
  // Its certificate is for the name that the cluster advertises. An attacker could advertise a name and have a certificate for it.
  const misnamed = await start({ credentials: await authority.issue({ addresses: [] }) })
  const credentials = await authority.issue({ names: [], addresses: [host] })
  const later = await start()
  await later[Symbol.asyncDispose]()
  const peers = [plain, misnamed, later].map(({ port }) => `localhost:${port}`)
  const first = await start({ credentials, peers })
  const { connecting, lines } = connectService(urlFor(first.port, { host }))
  const nats = await connecting
  await nats.connection.flush()
  await first[Symbol.asyncDispose]()
  await eventually(() => plain.connections() >= 2 && misnamed.connections() >= 2)
  expect([plain.received(), misnamed.received(), nats.isConnected()]).toEqual(['', '', false])
  expect(lines.toSorted()).toEqual([
    expect.stringContaining(`NATS at localhost:${plain.port} offers no TLS`),
    expect.stringContaining(`NATS at localhost:${misnamed.port} is for another host (DNS:localhost)`),
  ])
  await start({ port: later.port, credentials })
  await eventually(() => nats.isConnected())
})

test('a real server: TLS with the authority of NODE_EXTRA_CA_CERTS, by name and by address, and never without TLS', async () => {
  await using server = await startConfiguredNats(
    'include "users.conf"\ntls { cert_file: "$FOLDER/cert", key_file: "$FOLDER/key" }',
    await authority.issue(),
  )
  const caFile = join((await findTestRun()).folder, `ca-${server.port}.pem`)
  writeFileSync(caFile, authority.cert)
  const byAddress = server.urlFor('gateway').replace('nats:', 'tls:')
  const byName = byAddress.replace('127.0.0.1', 'localhost')
  // The server requires TLS, so the client uses it although the URL does not ask for it.
  const urls = [byName, byAddress, byName.replace('tls:', 'nats:')]
  const program = fileURLToPath(new URL('connect-process.ts', import.meta.url))
  const env = { ...process.env, NODE_EXTRA_CA_CERTS: caFile }
  const { stdout } = await run(process.execPath, [program, ...urls], { env })
  expect(JSON.parse(stdout)).toEqual(urls.map(() => 'connected'))
})
