/** Services, and the programs of operators, work with connection strings as hosters and other clients of Postgres write them. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { parseDatabaseUrl } from '@svc/config/database-url.ts'
import { STORES, type StoreName } from '@svc/local/topology.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { svc } from '../../clients/cli/test/run.ts'
import { got } from '../support/client/answers.ts'
import { newBoard, subscribe } from '../support/client/boards.ts'
import { openEventStream } from '../support/client/event-stream.ts'
import { type Credentials, createAuthority } from '../support/engines/certificates.ts'
import { createTestDatabase, type TestDatabase } from '../support/engines/database.ts'
import { findTestRun, takePorts } from '../support/engines/engines.ts'
import { startOwnServer } from '../support/engines/postgres/own-server.ts'
import { eventually } from '../support/eventually.ts'
import { openDoor } from '../support/stand-ins/postgres-tls.ts'
import { startReceiver } from '../support/stand-ins/webhook-receiver.ts'
import { startHarness } from '../support/system/harness.ts'
import { ONE_OF_EACH } from '../support/system/system.ts'

interface Place {
  readonly user: string
  readonly password: string
  readonly database: string
  /** The port of a Postgres that speaks TLS as `localhost`. */
  readonly port: number
  /** Nothing listens there. */
  readonly closedPort: number
}

const usual = (parameters: string) => (place: Place) =>
  `postgresql://${place.user}:${place.password}@localhost:${place.port}/${place.database}?${parameters}`

/** One form for each service, so that one system uses all forms. */
const FORMS: Record<string, (place: Place) => string> = {
  'Neon, with a name that the certificate proves': usual(
    'sslmode=verify-full&channel_binding=prefer&connect_timeout=15',
  ),
  'Heroku, Aiven, Azure': usual('sslmode=require'),
  'RDS, with an authority of the system': usual(
    'sslmode=verify-full&sslrootcert=system&target_session_attrs=read-write',
  ),
  'Prisma and Supabase': usual('schema=public&ssl=true&supa=base-pooler.x&workaround=supabase-pooler.vercel'),
  'libpq, with parameters alone': ({ user, password, database, port }) =>
    `postgres:///?host=localhost&port=${port}&user=${user}&password=${password}&dbname=${database}&sslmode=require&gssencmode=disable&keepalives=1&application_name=mine&options=-c%20work_mem%3D5MB`,
  'a cluster of which one host is down': ({ user, password, database, port, closedPort }) =>
    `postgres://${user}:${password}@localhost:${closedPort},localhost:${port}/${database}?sslmode=verify-full&target_session_attrs=primary&load_balance_hosts=disable`,
}
/** Forms in which a program can easily go wrong when it changes the login or the database. */
const HARDEST = ['libpq, with parameters alone', 'a cluster of which one host is down']

const IMAGE = fileURLToPath(new URL('../../deploy/image/src/', import.meta.url))
const DONE = { status: 0, stderr: '' }

const stack = new AsyncDisposableStack()
let credentials: Credentials
let receiver: Awaited<ReturnType<typeof startReceiver>>
let ca: string
let closedPort: number

beforeAll(async () => {
  const authority = await createAuthority()
  credentials = await authority.issue()
  setDefaultCACertificates([...getCACertificates('default'), authority.cert])
  receiver = stack.use(await startReceiver())
  ca = join(mkdtempSync(join((await findTestRun()).folder, 'hosted-')), 'ca.pem')
  writeFileSync(ca, [authority.cert, readFileSync(receiver.caFile, 'utf8')].join('\n'))
  closedPort = await takePorts()
})
afterAll(() => stack.disposeAsync())

/** Starts an endpoint with TLS in front of a database's server. @returns writes the URL of a login there in one of the forms. */
async function host(database: TestDatabase): Promise<(form: string, url: string) => string> {
  const { port } = stack.use(await openDoor({ credentials, toPort: Number(new URL(database.adminUrl).port) }))
  return (form, url) => {
    const write = FORMS[form]
    if (write === undefined) throw new Error(`no form ${form}`)
    return write({ ...parseDatabaseUrl(url), port, closedPort })
  }
}

test('a message, a post, a vote, the stream, a webhook, a revocation and the audit work, each service with a server and a form of its own', async () => {
  const forms = Object.keys(FORMS)
  expect(forms).toHaveLength(STORES.length)
  const urls = new Map<string, string>()
  const startHosted = async (store: StoreName, at: number): Promise<void> => {
    const database = stack.use(await startOwnServer(store))
    const urlOf = await host(database)
    urls.set(store, urlOf(forms[at] ?? '', database.urlFor(store)))
  }
  await Promise.all(STORES.map(startHosted))
  await using h = await startHarness({
    replicas: ONE_OF_EACH,
    env: { SVC_WEBHOOK_ALLOWED_PRIVATE_TARGETS: receiver.host, NODE_EXTRA_CA_CERTS: ca },
    databaseUrl: (url, name) => urls.get(name.replace(/-\d+$/, '')) ?? url,
  })
  const [anna, ben] = await h.agents(2)
  await got(ben.put(`/v2/contacts/${anna.id}`, { state: 'accepted' }))
  const secret = '0123456789abcdef0123456789abcdef'
  await got(ben.put('/v2/webhook', { url: receiver.urlFor('/own'), secret }))
  using stream = await openEventStream(ben)
  await stream.until('cursor')

  const message = (await got(anna.send(ben))).body.msg_id
  await stream.until('message')
  expect(stream.ids()).toEqual([message])
  await eventually(() => expect(receiver.at('/own')).toHaveLength(1))

  const board = await newBoard(anna)
  await subscribe(ben, board)
  const post = (await got(anna.send(`board:${board}`))).body.msg_id
  await stream.until('message', 2)
  await got(ben.put(`/v2/messages/${post}/vote`))
  const feed = (await got(ben.get(`/v2/boards/${board}/messages`))).body
  expect(feed).toMatchObject({ messages: [{ envelope: { id: post }, upvotes: 1 }] })

  const verified = await eventually(async () => {
    const run = await svc(['admin', 'verify', '--json'], { env: { SVC_NATS_URL: h.system.nats.urlFor('admin') } })
    return run.exitCode === 0 ? run : false
  })
  expect(verified.stderr).toBe('')
  await got(anna.post('/v2/me/revoke', { confirm_agent_id: anna.id }))
  expect((await anna.send(ben)).status).toBe(401)

  const lines = [...h.system.processes.values()].flatMap(({ log }) => log.map((line) => line.message))
  for (const name of ['channel_binding', 'connect_timeout', 'schema', 'supa', 'gssencmode', 'load_balance_hosts'])
    expect(lines).toContainEqual(expect.stringContaining(`SVC_DATABASE_URL: ${name} changes nothing: `))
})

test('roles, migrations, the books, svc admin backup, and drill, which restores', async () => {
  const stored = stack.use(await createTestDatabase(STORES))
  const urlOf = await host(stored)
  const passwords = {
    SVC_DATABASE_PASSWORD: parseDatabaseUrl(stored.urlFor('budget')).password,
    SVC_DATABASE_OWNER_PASSWORD: parseDatabaseUrl(stored.urlFor('budget_owner')).password,
  }
  for (const form of HARDEST) {
    const admin = { SVC_DATABASE_URL: urlOf(form, stored.adminUrl) }
    const owner = { SVC_DATABASE_URL: urlOf(form, stored.urlFor('budget_owner')) }
    expect(await run(`${IMAGE}roles.ts`, ['budget'], { ...admin, ...passwords })).toMatchObject(DONE)
    const others = [run(`${IMAGE}migrate.ts`, ['budget'], owner), run(`${IMAGE}verify-books.ts`, [], admin)]
    expect(await Promise.all(others)).toMatchObject([DONE, DONE])
  }
  const folder = join(mkdtempSync(join((await findTestRun()).folder, 'hosted-')), 'backup')
  const env = { NODE_EXTRA_CA_CERTS: ca, SVC_DATABASE_URL: urlOf(HARDEST[0] ?? '', stored.adminUrl) }
  expect(await svc(['admin', 'backup', folder], { env })).toMatchObject({ exitCode: 0 })
  expect(await svc(['admin', 'drill', folder], { env })).toMatchObject({ exitCode: 0 })
})

test('a URL that asks for more is refused before anything connects, by a service and by every program', async () => {
  const problem = expect.stringContaining('write sslmode=verify-full instead')
  const secret = 'x'.repeat(32)
  const env = {
    SVC_DATABASE_URL: 'postgres://u:hidden@db.invalid/svc?sslmode=require&channel_binding=require',
    SVC_NATS_URL: 'nats://u:p@nats.invalid:4222',
    SVC_DATABASE_PASSWORD: secret,
    SVC_DATABASE_OWNER_PASSWORD: secret,
  }
  const { build } = await findTestRun()
  for (const refused of await Promise.all([
    run(join(build, 'budget.js'), [], env),
    run(`${IMAGE}roles.ts`, ['budget'], env),
    run(`${IMAGE}migrate.ts`, ['budget'], env),
    run(`${IMAGE}verify-books.ts`, [], env),
  ])) {
    expect(refused).toMatchObject({ status: 78, stderr: problem })
    expect(refused.stderr + refused.stdout).not.toContain('hidden')
  }
  for (const args of [
    ['backup', 'nowhere'],
    ['drill', 'nowhere'],
    ['restore', './nowhere', '--reason', 'a test'],
  ]) {
    const { exitCode, stderr } = await svc(['admin', ...args], { env })
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: problem })
    expect(stderr).not.toContain('hidden')
  }
})

test('work that needs a session refuses a pooler', async () => {
  const env = { SVC_DATABASE_URL: 'postgres://u:p@db.invalid/svc?pgbouncer=true' }
  const problem = expect.stringContaining('this needs a URL of Postgres itself')
  expect(await run(`${IMAGE}migrate.ts`, ['budget'], env)).toMatchObject({ status: 78, stderr: problem })
  for (const command of ['backup', 'drill'])
    expect(await svc(['admin', command, 'nowhere'], { env })).toMatchObject({ exitCode: 2, stderr: problem })
})

interface Ended {
  readonly status: unknown
  readonly stdout: string
  readonly stderr: string
}

/** Runs the program in another process, because this one serves its connection to Postgres. */
async function run(program: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<Ended> {
  const child = spawn(process.execPath, [program, ...args], {
    env: { PATH: process.env.PATH, NODE_EXTRA_CA_CERTS: ca, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [[status], stdout, stderr] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)])
  return { status, stdout, stderr }
}
