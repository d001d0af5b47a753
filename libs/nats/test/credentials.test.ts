import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { readNats } from '@svc/config/connections.ts'
import { ConfigError, envReader } from '@svc/config/env-reader.ts'
import { acceptedSubject } from '@svc/contracts/accepted.ts'
import { createLogger, type Logger } from '@svc/telemetry/logger.ts'
import { type Authority, createAuthority } from '@svc/test/support/engines/certificates.ts'
import { findTestRun, startConfiguredNats } from '@svc/test/support/engines/engines.ts'
import { createNatsOperator } from '@svc/test/support/engines/nats/nats-operator.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { nkeys } from 'nats'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { connectNats, drainNats } from '../src/connect.ts'
import { KeptStream } from '../src/streams/kept-stream.ts'
import { createPublishEvents } from '../src/streams/publish-events.ts'
import { StreamConsumer, type StreamEvent } from '../src/streams/stream-consumer.ts'
import { acceptedStream, WEBHOOK_CONSUMER } from '../src/streams/streams.ts'

const TLS = 'cert_file: "$FOLDER/cert", key_file: "$FOLDER/key"'
const ASKING = `${TLS}, ca_file: "$FOLDER/ca", verify: true`

let folder: string
let authority: Authority
let stranger: Authority
let ca: string

beforeAll(async () => {
  folder = join((await findTestRun()).folder, 'credentials')
  mkdirSync(folder)
  authority = await createAuthority()
  stranger = await createAuthority()
  ca = fileWith(authority.cert)
})

let files = 0
/** @returns the path of a new file. */
function fileWith(text: string): string {
  files += 1
  const path = join(folder, `file-${files}`)
  writeFileSync(path, text)
  return path
}

/** The variables of a process, with files for the certificate and its key. */
function showing({ cert, key }: { cert: string; key: string }): Record<string, string> {
  return { SVC_NATS_CERT_FILE: fileWith(cert), SVC_NATS_KEY_FILE: fileWith(key) }
}

function settingsOf(env: Record<string, string>) {
  const reader = envReader(env)
  const { natsUrl, natsAccess } = readNats(reader)
  reader.check()
  return { url: natsUrl, access: natsAccess, name: 'test' }
}

/** Connects like a tool that an operator waits for. @returns `connected as <inbox>`, or why not. */
async function outcomeOf(env: Record<string, string>): Promise<string> {
  const logger = createLogger('test', 'silent')
  try {
    const nats = await connectNats({ ...settingsOf(env), logger, firstConnectMs: 5_000 })
    await nats.connection.flush()
    await drainNats(nats)
    return `connected as ${nats.inboxPrefix}`
  } catch (error) {
    return (error as Error).message
  }
}

/** Connects like a service, and stays. @returns the lines of its log from `error` up. */
async function connectService(env: Record<string, string>) {
  const lines: string[] = []
  const logger = createLogger('test', 'silent') as Logger
  logger.error = (line: unknown) => void lines.push(String(line))
  const nats = await connectNats({ ...settingsOf(env), logger })
  onTestFinished(() => drainNats(nats, 100))
  return { nats, lines }
}

/** Whether the server answers. An open connection alone is no proof, because it may be about to be refused. */
function answers(nats: Awaited<ReturnType<typeof connectNats>>): Promise<boolean> {
  return Promise.race([
    nats.connection.flush().then(
      () => nats.isConnected(),
      () => false,
    ),
    new Promise<boolean>((resolve) => setTimeout(resolve, 200, false)),
  ])
}

async function startTls(tls: string, { cert, key }: { cert: string; key: string }) {
  const server = await startConfiguredNats(`tls { ${tls} }`, { cert, key, ca: authority.cert })
  onTestFinished(() => server[Symbol.asyncDispose]())
  return { server, url: `tls://localhost:${server.port}` }
}

describe('SVC_NATS_CA_FILE', () => {
  test('verifies the server against this authority', async () => {
    const { url } = await startTls(TLS, await authority.issue())
    expect(await outcomeOf({ SVC_NATS_URL: url, SVC_NATS_CA_FILE: ca })).toBe('connected as _INBOX')
    const unknown = await outcomeOf({ SVC_NATS_URL: url })
    expect(unknown).toContain('name the file of the authority in SVC_NATS_CA_FILE or NODE_EXTRA_CA_CERTS')
  })

  test.each([
    ['another authority', () => stranger.issue(), 'from an authority that this process does not trust'],
    ['an expired certificate', () => authority.issue({ expired: true }), 'has expired: renew it on the server'],
    ['another host', () => authority.issue({ names: ['db.test'] }), 'is for another host (DNS:db.test'],
  ])('refuses a server with %s', async (_, issue, problem) => {
    const { url } = await startTls(TLS, await issue())
    expect(await outcomeOf({ SVC_NATS_URL: url, SVC_NATS_CA_FILE: ca })).toContain(problem)
  })

  test('trusts no other authority, not even those that the process trusts elsewhere', async () => {
    const trusted = getCACertificates('default')
    onTestFinished(() => setDefaultCACertificates(trusted))
    setDefaultCACertificates([...trusted, stranger.cert])
    const { url } = await startTls(TLS, await stranger.issue())
    expect(await outcomeOf({ SVC_NATS_URL: url })).toBe('connected as _INBOX')
    expect(await outcomeOf({ SVC_NATS_URL: url, SVC_NATS_CA_FILE: ca })).toContain('does not trust')
  })

  test('refuses a server that offers no TLS', async () => {
    await using server = await startConfiguredNats('')
    const problem = await outcomeOf({ SVC_NATS_URL: `tls://localhost:${server.port}`, SVC_NATS_CA_FILE: ca })
    expect(problem).toContain('offers no TLS, but SVC_NATS_URL requires it')
  })
})

const REFUSED = 'refuses the certificate in SVC_NATS_CERT_FILE'
const RESET = 'reset the connection: if it asks for certificates of clients'

describe('SVC_NATS_CERT_FILE and SVC_NATS_KEY_FILE', () => {
  const start = () => authority.issue().then((own) => startTls(ASKING, own))

  test('are shown to a server that asks for them', async () => {
    const { url } = await start()
    const env = { SVC_NATS_URL: url, SVC_NATS_CA_FILE: ca, ...showing(await authority.issue()) }
    expect(await outcomeOf(env)).toBe('connected as _INBOX')
  })

  test.each([
    ['no certificate', async () => ({}), 'asks for a certificate of this process'],
    ['one of a stranger', async () => showing(await stranger.issue()), REFUSED],
    ['an expired one', async () => showing(await authority.issue({ expired: true })), REFUSED],
  ])(
    'a server that asks for a certificate and gets %s refuses it, and the message names the variable',
    async (_, variables, alert) => {
      const { url } = await start()
      const outcome = await outcomeOf({ SVC_NATS_URL: url, SVC_NATS_CA_FILE: ca, ...(await variables()) })
      // The server sends an alert and resets the connection. Either may arrive first.
      expect([alert, RESET].some((text) => outcome.includes(text))).toBe(true)
      expect(outcome).toContain('SVC_NATS_CERT_FILE')
    },
  )

  test('renewed files are used at the next connection, without a restart', async () => {
    const { server, url } = await start()
    const own = showing(await authority.issue())
    const { nats, lines } = await connectService({ SVC_NATS_URL: url, SVC_NATS_CA_FILE: ca, ...own })
    await server.restart(`tls { ${ASKING.replace('/ca"', '/next-ca"')} }`, { 'next-ca': stranger.cert })
    await eventually(() => lines.some((line) => line.includes(REFUSED) || line.includes(RESET)))
    const { cert, key } = await stranger.issue()
    writeFileSync(own.SVC_NATS_CERT_FILE ?? '', cert)
    await eventually(() => lines.some((line) => line.includes('which is not the key of SVC_NATS_CERT_FILE')))
    writeFileSync(own.SVC_NATS_KEY_FILE ?? '', key)
    await eventually(() => answers(nats))
  })
})

/** A kind of login: how the server is configured for it, and how a process gets it. */
interface Login {
  readonly config: string
  readonly text: string
}

const LOGINS = {
  SVC_NATS_PASSWORD_FILE: async (): Promise<Login> => {
    const password = `p${Math.random()}`
    return { config: `authorization { user: budget, password: "${password}" }`, text: `${password}\n` }
  },
  SVC_NATS_NKEY_FILE: async (): Promise<Login> => {
    const key = nkeys.createUser()
    const text = new TextDecoder().decode(key.getSeed())
    return { config: `authorization { users: [{ nkey: ${key.getPublicKey()} }] }`, text }
  },
  SVC_NATS_CREDS_FILE: async (): Promise<Login> => {
    const operator = await createNatsOperator()
    return { config: operator.config, text: await operator.credsFor('budget') }
  },
} satisfies Record<string, () => Promise<Login>>
/** How complete a file is, and the message about it. */
const HALF_WRITTEN = {
  SVC_NATS_PASSWORD_FILE: [0, 'is empty'],
  SVC_NATS_NKEY_FILE: [-20, 'is not the seed of a user'],
  SVC_NATS_CREDS_FILE: [-20, 'has no JWT and seed of a user'],
} as const
const KINDS = Object.keys(LOGINS) as (keyof typeof LOGINS)[]

describe.each(KINDS)('%s', (variable) => {
  const start = async ({ config }: Login) => {
    const server = await startConfiguredNats(config)
    onTestFinished(() => server[Symbol.asyncDispose]())
    return { server, url: `nats://127.0.0.1:${server.port}` }
  }

  test('is a login, with an inbox for the user', async () => {
    const login = await LOGINS[variable]()
    const { url } = await start(login)
    const env = { SVC_NATS_URL: url, SVC_NATS_USER: 'budget', [variable]: fileWith(login.text) }
    expect(await outcomeOf(env)).toBe('connected as _INBOX_budget')
    const other = fileWith((await LOGINS[variable]()).text)
    expect(await outcomeOf({ ...env, [variable]: other })).toBe("'Authorization Violation'")
  })

  test('is read again when the server has another login, and an incomplete file is reported', async () => {
    const [first, next] = [await LOGINS[variable](), await LOGINS[variable]()]
    const { server, url } = await start(first)
    const path = fileWith(first.text)
    const { nats, lines } = await connectService({ SVC_NATS_URL: url, SVC_NATS_USER: 'budget', [variable]: path })
    const isSaid = (text: string) => eventually(() => lines.some((line) => line.includes(text)))
    await server.restart(next.config)
    await isSaid(`refuses the login in ${variable}`)
    rmSync(path)
    await isSaid(`${variable} is ${path}, which does not exist.`)
    const [length, problem] = HALF_WRITTEN[variable]
    writeFileSync(path, next.text.slice(0, length))
    await isSaid(`${variable} is ${path}, which ${problem}`)
    writeFileSync(path, next.text)
    await eventually(() => answers(nats))
    expect(new Set(lines).size).toBe(3)
    expect(lines.join()).not.toContain(next.text.trim().slice(-40))
  })
})

test('a server that ends a connection because its JWT has expired gets the renewed one', async () => {
  const operator = await createNatsOperator()
  await using server = await startConfiguredNats(operator.config)
  const path = fileWith(await operator.credsFor('budget', { expiresAt: Math.floor(Date.now() / 1_000) + 2 }))
  const env = { SVC_NATS_URL: `nats://budget@127.0.0.1:${server.port}`, SVC_NATS_CREDS_FILE: path }
  const { nats } = await connectService(env)
  const before = nats.connection.info?.client_id
  writeFileSync(path, await operator.credsFor('budget'))
  await eventually(async () => (await answers(nats)) && nats.connection.info?.client_id !== before)
})

test('in operator mode messaging publishes to the stream, and webhook gets it from its consumer', async () => {
  const operator = await createNatsOperator()
  const server = await startConfiguredNats(operator.config)
  onTestFinished(() => server[Symbol.asyncDispose]())
  const connect = async (user: string) => {
    const env = { SVC_NATS_URL: `nats://${user}@127.0.0.1:${server.port}` }
    return (await connectService({ ...env, SVC_NATS_CREDS_FILE: fileWith(await operator.credsFor(user)) })).nats
  }
  const messaging = await connect('messaging')
  const stream = await KeptStream.open(messaging, acceptedStream(1))
  await eventually(() => stream.keep())
  const publish = createPublishEvents(messaging, createLogger('test', 'silent'))
  publish([{ subject: acceptedSubject('agent', 'inbox'), text: 'hello', acceptedMs: 1 }])
  const heard: string[] = []
  const handle = async ({ text }: StreamEvent) => {
    heard.push(text)
    return 'done' as const
  }
  await using consumer = await StreamConsumer.open(await connect('webhook'), WEBHOOK_CONSUMER, { handle })
  const { signal } = new AbortController()
  await eventually(() => consumer.pull({ maxEvents: 1, waitMs: 1_000, signal }))
  expect(heard).toEqual(['hello'])
})

test('a seed with a typing error ends the start, and the message names the file', async () => {
  const seed = new TextDecoder().decode(nkeys.createUser().getSeed())
  const path = fileWith(seed.replace(/.{4}$/, seed.endsWith('AAAA') ? 'BBBB' : 'AAAA'))
  const settings = settingsOf({ SVC_NATS_URL: 'nats://budget@127.0.0.1:9', SVC_NATS_NKEY_FILE: path })
  const connecting = connectNats({ ...settings, logger: createLogger('test', 'silent') })
  await expect(connecting).rejects.toThrow(ConfigError)
  await expect(connecting).rejects.toThrow(`SVC_NATS_NKEY_FILE is ${path}, which has a damaged seed`)
})
