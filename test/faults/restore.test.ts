/**
 * The drill of docs/operating/back-up.md, "Restore to a point in time", on a whole system. Postgres loses all of its files,
 * and is restored from a base backup and the archived log. The step that waits two minutes is left out, because these
 * clients repeat no request. Then the same system is backed up and restored by `svc admin`.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { databaseUrl } from '@svc/local/engines/roles.ts'
import { migrate } from '@svc/postgres/migration/migrate.ts'
import { findMissing } from '@svc/postgres/migration/migrated.ts'
import { UnfinishedRestoreError } from '@svc/postgres/migration/restoring.ts'
import { readSchemaFiles } from '@svc/postgres/migration/schema-files.ts'
import postgres from 'postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Run, svc } from '../../clients/cli/test/run.ts'
import type { Agent } from '../support/client/agent.ts'
import { got } from '../support/client/answers.ts'
import { idsOf, readList } from '../support/client/pages.ts'
import { findTestRun } from '../support/engines/engines.ts'
import { startArchivedPostgres } from '../support/engines/postgres/archived-postgres.ts'
import { eventually } from '../support/eventually.ts'
import { findSvc } from '../support/run/svc.ts'
import { untilResolved } from '../support/system/books.ts'
import { type Harness, startHarness } from '../support/system/harness.ts'
import { ONE_OF_EACH } from '../support/system/system.ts'

const MESSAGES = 12

let stored: Awaited<ReturnType<typeof startArchivedPostgres>>
let h: Harness
let anna: Agent
let ben: Agent

beforeAll(async () => {
  stored = await startArchivedPostgres()
  const env = { SVC_DAILY_FREE_UNITS: '100000', SVC_DAILY_HARD_LIMIT: '100000' }
  h = await startHarness({ replicas: ONE_OF_EACH, database: stored.database, env })
  ;[anna, ben] = await h.agents(2)
  await got(ben.patch('/v2/me', { inbox_policy: 'open' }))
  // Nothing answers there, so every job stays.
  await got(ben.put('/v2/webhook', { url: 'https://hooks.example.com/hook', secret: 's'.repeat(32) }))
})
afterAll(async () => {
  await (h ?? stored?.database)?.[Symbol.asyncDispose]()
})

/** @returns the envelopes that were accepted. */
async function sendSome(): Promise<ReturnType<Agent['envelope']>[]> {
  const envelopes = Array.from({ length: MESSAGES }, () => anna.envelope(ben))
  for (const envelope of envelopes) await got(anna.post('/v2/messages', envelope))
  return envelopes
}

async function latestCursor(agent: Agent): Promise<number> {
  const { headers } = await got(agent.get('/v2/events?limit=1'))
  return Number(headers.get('x-svc-latest-cursor'))
}

const operate = (...args: string[]): Promise<Run> =>
  svc(['admin', ...args, '--json'], { env: { SVC_NATS_URL: h.system.nats.urlFor('admin') } })

test('a restore to a point in time: the books agree, all messages accepted until then are stored, and have their webhook jobs', async () => {
  await sendSome()
  await stored.takeBaseBackup()
  const kept = await sendSome()
  const sql = postgres(stored.database.adminUrl, { max: 1 })
  const [moment] = await sql<{ text: string }[]>`select clock_timestamp()::text as text`
  await sql.end()
  const lost = await sendSome()
  const seenCursor = await latestCursor(ben)
  await stored.archiveLog()

  // 1 and 2: stop everything, restore the database
  const services = [...h.system.processes.keys()].filter((name) => name !== 'gateway-1')
  await h.system.processes.get('gateway-1')?.stop()
  await Promise.all(services.map((name) => h.system.processes.get(name)?.stop()))
  await stored.lose()
  await stored.restoreTo(moment?.text ?? '')

  // 3: NATS without the events of messages that no longer exist
  await h.system.nats.restart({ wipe: true })

  // 4: start every service except the gateway
  await Promise.all(services.map((name) => h.system.start(name)))
  const admin = postgres(stored.database.adminUrl, { max: 1, onnotice: () => {} })
  await untilResolved(admin)
  expect(await operate('verify')).toMatchObject({ exitCode: 0, stderr: '' })

  // 5: raise the heads
  expect((await operate('raise-heads', '--reason', 'a drill')).documents()).toMatchObject([{ by: 10_000 }])
  expect((await operate('raise-heads', '--reason', 'a drill')).documents()).toMatchObject([{ raised: 0 }])

  // 6: start the gateway
  await h.system.start('gateway-1')
  const found = idsOf(await eventually(() => readList(ben, '/v2/inbox?lane=inbox&limit=100')))
  expect(found).toHaveLength(2 * MESSAGES)
  expect(found).toEqual(expect.arrayContaining(kept.map(({ id }) => id)))
  expect(await latestCursor(ben)).toBeGreaterThan(seenCursor)

  // 7: an identical retry of a lost message is accepted as new
  expect((await anna.post('/v2/messages', lost[0])).status).toBe(202)
  await eventually(async () => {
    const jobs = await admin<{ id: string }[]>`select message_id as id from webhook.jobs`
    expect(jobs.map(({ id }) => id).toSorted()).toEqual([...found, lost[0]?.id].toSorted())
  })
  await untilResolved(admin)
  await admin.end()
  expect(await operate('verify')).toMatchObject({ exitCode: 0, stderr: '' })
})

/** Runs `svc admin …` on the database. */
const run = (args: readonly string[], database = stored.database.adminUrl): Promise<Run> =>
  svc(['admin', ...args], { env: { ...process.env, SVC_DATABASE_URL: database } })

/** Runs the command in a process of its own, as the image has it. It dies at the failpoint. */
async function die(args: readonly string[], failpoint: string): Promise<void> {
  const child = spawn(process.execPath, [await findSvc(), 'admin', ...args], {
    env: { ...process.env, SVC_DATABASE_URL: stored.database.adminUrl, SVC_FAILPOINTS: failpoint },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const [[, signal], stderr] = await Promise.all([once(child, 'close'), text(child.stderr)])
  expect({ failpoint, signal, stderr }).toMatchObject({ signal: 'SIGKILL' })
}

/** Sends messages from anna to ben until it is stopped. @returns the ids that were accepted, in order. */
function startLoad(): { readonly accepted: string[]; stop(): Promise<void> } {
  const accepted: string[] = []
  let stopped = false
  const ended = (async () => {
    while (!stopped) {
      const envelope = anna.envelope(ben)
      if ((await anna.post('/v2/messages', envelope)).status === 202) accepted.push(envelope.id)
    }
  })()
  return {
    accepted,
    async stop() {
      stopped = true
      await ended
    },
  }
}

/** The URL of another database on the server. */
const otherDatabase = (): string => databaseUrl(stored.database.adminUrl, 'postgres')

/** The ids of the messages after the cursor. */
async function eventsAfter(agent: Agent, cursor: number): Promise<string[]> {
  const found: string[] = []
  for (let after = cursor; ; ) {
    const { body } = await got(agent.get(`/v2/events?after=${after}&limit=100`))
    found.push(...body.events.map(({ message }: { message: { envelope: { id: string } } }) => message.envelope.id))
    if (body.next_cursor === after) return found
    after = body.next_cursor
  }
}

async function databases(): Promise<string[]> {
  const sql = postgres(stored.database.adminUrl, { max: 1 })
  const rows = await sql<{ name: string }[]>`select datname as name from pg_database`
  await sql.end()
  return rows.map(({ name }) => name)
}

/** A part of a backup is in the database: no migration runs on it, and no service starts. */
async function expectUnfinished(): Promise<void> {
  const url = stored.database.adminUrl
  const dir = fileURLToPath(new URL('../../services/messaging/database', import.meta.url))
  await expect(migrate({ url, schema: 'messaging', dir })).rejects.toThrow(UnfinishedRestoreError)
  const sql = postgres(url, { max: 1 })
  expect(await findMissing(sql, 'messaging', readSchemaFiles(dir, 'messaging'))).toContain('svc admin restore')
  await sql.end()
}

test('svc admin backup, drill and restore: under load, killed anywhere and repeated, with every message and nothing wrong', {
  timeout: 400_000,
}, async () => {
  const { folder } = await findTestRun()
  const backups = join(folder, 'backups')
  mkdirSync(backups)
  const backup = join(backups, 'first')
  const load = startLoad()
  await eventually(() => expect(load.accepted.length).toBeGreaterThan(3))

  await die(['backup', backup], 'backup.table=kill@20')
  await die(['backup', backup], 'backup.written=kill')
  expect(readdirSync(backups)).toEqual(['first.unfinished'])
  expect(await run(['drill', backups])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('is not a backup'),
  })
  const before = [...load.accepted]
  const made = await run(['backup', backup, '--json'])
  expect(made).toMatchObject({ exitCode: 0 })
  const id = made.documents()[0]?.id
  const after = [...load.accepted]
  expect(readdirSync(backups)).toEqual(['first'])
  expect(await run(['backup', backup])).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('is not empty') })
  expect(await run(['backup', join(backups, 'no/where')])).toMatchObject({ exitCode: 1 })
  expect(await run(['backup', join(backups, 'second')], otherDatabase())).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('has no schemas boards, '),
  })

  const nightly = join(folder, 'nightly')
  const keepTwo = ['backup', nightly, '--keep', '2', '--json']
  const old = ['2026-01-01T02-07-00Z', '2026-01-02T02-07-00Z']
  for (const name of [...old, 'mine']) cpSync(backup, join(nightly, name), { recursive: true })
  await die(keepTwo, 'backup.table=kill@20')
  expect(readdirSync(nightly)).toEqual([...old, expect.stringMatching(/Z\.unfinished$/), 'mine'])
  await die(keepTwo, 'backup.removing=kill')
  const [, , second = ''] = readdirSync(nightly)
  expect(readdirSync(nightly)).toEqual([...old, second, 'mine'])
  const third = await eventually(async () => {
    const done = await run(keepTwo)
    expect(done).toMatchObject({ exitCode: 0 }) // not in the second of the backup before
    return done.documents()[0]
  })
  expect(third).toMatchObject({ removed: old })
  expect(readdirSync(nightly)).toEqual([second, basename(String(third?.folder)), 'mine'])

  const damaged = join(folder, 'damaged')
  cpSync(backup, damaged, { recursive: true })
  const file = join(damaged, 'identity.agents.copy')
  writeFileSync(file, readFileSync(file, 'utf8').replace(/[a-z]/, '!'))
  expect(await run(['drill', damaged])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining(`${file} is damaged`),
  })
  await die(['drill', backup], 'restore.table=kill@9')
  expect((await databases()).filter((name) => name.startsWith('svc_drill_'))).toHaveLength(1)
  const drilled = await run(['drill', backups, '--json', '--max-age', '1'])
  expect(drilled).toMatchObject({ exitCode: 0 })
  expect(drilled.documents()[0]).toMatchObject({ good: true, wrong: [], id: id })
  expect((await databases()).filter((name) => name.startsWith('svc_drill_'))).toEqual([])

  const restore = ['restore', backup, '--reason', 'a drill', '--json']
  expect(await run(['restore', backup])).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--reason') })
  expect(await run(restore)).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('is in use by') })
  await load.stop()
  const seenCursor = await latestCursor(ben)
  const services = [...h.system.processes.keys()].filter((name) => name !== 'gateway-1')
  await h.system.processes.get('gateway-1')?.stop()
  await Promise.all(services.map((name) => h.system.processes.get(name)?.stop()))
  expect(await run(restore)).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('is not empty') })
  const admin = postgres(otherDatabase(), { max: 1, onnotice: () => {} })
  await admin`alter database svc rename to lost`
  await admin`create database svc template template0`
  for (const failpoint of ['restore.copied=kill', 'restore.finishing=kill']) {
    await die(restore, failpoint)
    await expectUnfinished()
  }
  const restored = await run(restore)
  expect(restored).toMatchObject({ exitCode: 0 })
  expect(restored.documents()[0]).toMatchObject({ id: id, raised: { by: 10_000 }, wrong: [] })
  expect(await run(restore)).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('is not empty') })
  await admin.end()

  await h.system.nats.restart({ wipe: true })
  await Promise.all(services.map((name) => h.system.start(name)))
  const sql = postgres(stored.database.adminUrl, { max: 1, onnotice: () => {} })
  await untilResolved(sql)
  expect(await sql`select action, reason from messaging.audit where action = 'restore'`).toEqual([
    { action: 'restore', reason: 'a drill' },
  ])
  expect(await operate('verify')).toMatchObject({ exitCode: 0, stderr: '' })
  await h.system.start('gateway-1')
  const kept = new Set(idsOf(await eventually(() => readList(ben, '/v2/inbox?lane=inbox&limit=100'))))
  const newest = anna.envelope(ben)
  await got(anna.post('/v2/messages', newest))
  expect(before.filter((id) => !kept.has(id))).toEqual([])
  expect(load.accepted.slice(after.length).filter((id) => kept.has(id))).toEqual([])
  const events = await eventsAfter(ben, seenCursor)
  expect(events).toEqual([newest.id])
  await untilResolved(sql)
  await sql.end()
  expect(await operate('verify')).toMatchObject({ exitCode: 0, stderr: '' })
})
