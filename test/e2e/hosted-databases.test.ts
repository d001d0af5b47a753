/** Connection strings as hosters and other clients write them, in every kind of process: services, roles, migrations, operators. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { parseDatabaseUrl } from '@svc/config/database-url.ts'
import { STORES } from '@svc/local/topology.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { svc } from '../../clients/cli/test/run.ts'
import { got } from '../support/client/answers.ts'
import { newBoard, subscribe } from '../support/client/boards.ts'
import { openEventStream } from '../support/client/event-stream.ts'
import { createAuthority } from '../support/engines/certificates.ts'
import { createTestDatabase, type TestDatabase } from '../support/engines/database.ts'
import { findTestRun, takePorts } from '../support/engines/engines.ts'
import { eventually } from '../support/eventually.ts'
import { openDoor } from '../support/stand-ins/postgres-tls.ts'
import { startHarness } from '../support/system/harness.ts'
import { ONE_OF_EACH } from '../support/system/system.ts'

interface Place {
  readonly user: string
  readonly password: string
  readonly database: string
  /** Of a Postgres that speaks TLS. */
  readonly port: number
  /** Nothing listens there. */
  readonly closedPort: number
}

const usual = (parameters: string) => (place: Place) =>
  `postgresql://${place.user}:${place.password}@localhost:${place.port}/${place.database}?${parameters}`

/** One for each service, so that a system uses all. */
const FORMS = {
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
} satisfies Record<string, (place: Place) => string>

const REFUSED = [
  ['sslmode=require&channel_binding=require', 'write sslmode=verify-full instead'],
  ['sslmode=prefer', 'would continue without TLS'],
  ['sslmode=verify-full&sslrootcert=ca.pem', 'NODE_EXTRA_CA_CERTS'],
  ['sslmode=require&connection_limit=5', 'set SVC_DATABASE_POOL instead'],
  ['sslmode=require&statement_cache_size=0', 'write pooler=transaction if a pooler is in between'],
] as const

const FORM_NAMES = Object.keys(FORMS) as (keyof typeof FORMS)[]
const IMAGE = fileURLToPath(new URL('../../deploy/image/src/', import.meta.url))

const stack = new AsyncDisposableStack()
let stored: TestDatabase
let ca: string
let urlOf: (form: keyof typeof FORMS, url: string) => string

beforeAll(async () => {
  const authority = await createAuthority()
  setDefaultCACertificates([...getCACertificates('default'), authority.cert])
  ca = join(mkdtempSync(join((await findTestRun()).folder, 'hosted-')), 'ca.pem')
  writeFileSync(ca, authority.cert)
  stored = stack.use(await createTestDatabase(STORES))
  const toPort = Number(new URL(stored.adminUrl).port)
  const { port } = stack.use(await openDoor({ credentials: await authority.issue(), toPort }))
  const closedPort = await takePorts()
  urlOf = (form, url) => FORMS[form]({ ...parseDatabaseUrl(url), port, closedPort })
})
afterAll(() => stack.disposeAsync())

test('each service with another form: messages, posts, the stream and the audit work', async () => {
  expect(FORM_NAMES).toHaveLength(STORES.length)
  await using h = await startHarness({
    replicas: ONE_OF_EACH,
    // The system deletes its database in the end, and the other tests need this one.
    database: { ...stored, async [Symbol.asyncDispose]() {} },
    env: { NODE_EXTRA_CA_CERTS: ca },
    databaseUrl(url, name) {
      const form = FORM_NAMES[STORES.findIndex((store) => name.startsWith(store))]
      return form === undefined ? url : urlOf(form, url)
    },
  })
  const [anna, ben] = await h.agents(2)
  await got(ben.put(`/v2/contacts/${anna.id}`, { state: 'accepted' }))
  using stream = await openEventStream(ben)
  await stream.until('cursor')
  const message = (await got(anna.send(ben))).body.msg_id
  await stream.until('message')
  expect(stream.ids()).toEqual([message])
  const board = await newBoard(anna)
  await subscribe(ben, board)
  await got(anna.send(`board:${board}`))
  await stream.until('message', 2)
  await eventually(async () => {
    const { exitCode } = await svc(['admin', 'verify'], { env: { SVC_NATS_URL: h.system.nats.urlFor('admin') } })
    return exitCode === 0
  })
  const lines = [...h.system.processes.values()].flatMap(({ log }) => log.map((line) => line.message))
  for (const name of ['channel_binding', 'connect_timeout', 'schema', 'supa', 'gssencmode', 'load_balance_hosts'])
    expect(lines).toContainEqual(expect.stringContaining(`SVC_DATABASE_URL: ${name} changes nothing: `))
})

interface Ended {
  readonly status: unknown
  readonly stdout: string
  readonly stderr: string
}

async function run(program: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<Ended> {
  const child = spawn(process.execPath, [program, ...args], {
    env: { PATH: process.env.PATH, NODE_EXTRA_CA_CERTS: ca, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [[status], stdout, stderr] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)])
  return { status, stdout, stderr }
}

describe.each(FORM_NAMES)('%s', (form) => {
  test('roles, migrations and the books of a database', async () => {
    const passwords = {
      SVC_DATABASE_PASSWORD: parseDatabaseUrl(stored.urlFor('budget')).password,
      SVC_DATABASE_OWNER_PASSWORD: parseDatabaseUrl(stored.urlFor('budget_owner')).password,
    }
    const admin = { SVC_DATABASE_URL: urlOf(form, stored.adminUrl) }
    const done = { status: 0, stderr: '' }
    expect(await run(`${IMAGE}roles.ts`, ['budget'], { ...admin, ...passwords })).toMatchObject(done)
    const owner = { SVC_DATABASE_URL: urlOf(form, stored.urlFor('budget_owner')) }
    expect(await run(`${IMAGE}migrate.ts`, ['budget'], owner)).toMatchObject(done)
    expect(await run(`${IMAGE}verify-books.ts`, [], admin)).toMatchObject(done)
  })

  test('svc admin backup, and drill, which restores', async () => {
    const folder = join(mkdtempSync(join((await findTestRun()).folder, 'hosted-')), 'backup')
    const env = { ...process.env, NODE_EXTRA_CA_CERTS: ca, SVC_DATABASE_URL: urlOf(form, stored.adminUrl) }
    expect(await svc(['admin', 'backup', folder], { env })).toMatchObject({ exitCode: 0 })
    expect(await svc(['admin', 'drill', folder], { env })).toMatchObject({ exitCode: 0 })
  })
})

describe.each(REFUSED)('a URL with %s is refused before anything connects', (parameters, problem) => {
  const url = `postgres://u:hidden@db.invalid/svc?${parameters}`

  test('by a service, roles, migrations and the books', async () => {
    const { build } = await findTestRun()
    const secret = 'x'.repeat(32)
    const env = { SVC_DATABASE_URL: url, SVC_NATS_URL: 'nats://u:p@nats.invalid:4222' }
    const passwords = { SVC_DATABASE_PASSWORD: secret, SVC_DATABASE_OWNER_PASSWORD: secret }
    for (const refused of await Promise.all([
      run(join(build, 'budget.js'), [], env),
      run(`${IMAGE}roles.ts`, ['budget'], { ...env, ...passwords }),
      run(`${IMAGE}migrate.ts`, ['budget'], env),
      run(`${IMAGE}verify-books.ts`, [], env),
    ])) {
      expect(refused).toMatchObject({ status: 78, stderr: expect.stringContaining(problem) })
      expect(refused.stderr + refused.stdout).not.toContain('hidden')
    }
  })

  test.each(['backup', 'drill', 'restore'])('by svc admin %s', async (command) => {
    const more = command === 'restore' ? ['--reason', 'a test'] : []
    const { exitCode, stderr } = await svc(['admin', command, './nowhere', ...more], { env: { SVC_DATABASE_URL: url } })
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringContaining(problem) })
    expect(stderr).not.toContain('hidden')
  })
})

test('work that needs a session refuses a pooler', async () => {
  const env = { SVC_DATABASE_URL: 'postgres://u:p@db.invalid/svc?pgbouncer=true' }
  const problem = expect.stringContaining('this needs a URL of Postgres itself')
  expect(await run(`${IMAGE}migrate.ts`, ['budget'], env)).toMatchObject({ status: 78, stderr: problem })
  for (const command of ['backup', 'drill'])
    expect(await svc(['admin', command, 'nowhere'], { env })).toMatchObject({ exitCode: 2, stderr: problem })
})
