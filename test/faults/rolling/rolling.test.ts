/**
 * An upgrade without downtime. Migrations run first. Then every process of every service restarts, one after another, under
 * load. Each request must get the right answer, and each stream must close with a last cursor.
 *
 * The migrations are of the allowed kind, which both old and new code work with: a column, a table and an index in each
 * store. The test shows that they hold no lock for a noticeable time, that processes keep working with their connections
 * and prepared statements on changed tables, and that any half of a service can be replaced. Each process restarts with
 * other logins for NATS and its database, as when passwords are rotated (docs/operating/rotate.md). All processes run the
 * code of this tree, so the test does not show whether an older release works with this one; `npx pnpm faults:upgrade`
 * does.
 */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { appendFileSync, cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { SERVICES, type ServiceName, STORES, type StoreName } from '@svc/local/topology.ts'
import { migrate } from '@svc/postgres/migration/migrate.ts'
import { readSchemaFiles } from '@svc/postgres/migration/schema-files.ts'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Harness, startHarness } from '../../support/system/harness.ts'
import { type RollingLoad, rollingSystem, startRollingLoad } from './load.ts'

/** Number of answers between two restarts. */
const ANSWERS = process.env.SVC_FAULTS === 'long' ? 400 : 12
/** Without this pause, hundreds of requests a second would run during every restart. Other tests need the machine as well. */
const PAUSE_MS = process.env.SVC_FAULTS === 'long' ? 0 : 200

/** One table of each store, which most requests use. */
const BUSY_TABLE: Record<StoreName, string> = {
  budget: 'accounts',
  boards: 'boards',
  webhook: 'endpoints',
  messaging: 'messages',
  identity: 'agents',
  stream: 'leases',
}

let h: Harness
let load: RollingLoad
beforeAll(async () => {
  h = await startHarness({
    // This process is also the balancer. It may be late to notice that a gateway is no longer ready.
    env: { SVC_DRAIN_SECONDS: '8', SVC_DAILY_FREE_UNITS: '10000000', SVC_DAILY_HARD_LIMIT: '10000000' },
  })
  load = await startRollingLoad(rollingSystem(h), { pauseMs: PAUSE_MS })
})
afterAll(async () => {
  await load?.[Symbol.asyncDispose]()
  await removeSecondLogins()
  await h?.[Symbol.asyncDispose]()
})

/** The SQL of a store with one more numbered file, and with a changed text in every function. */
function withOneMore(store: StoreName): string {
  const dir = mkdtempSync(join(tmpdir(), `svc-database-${store}-`))
  cpSync(fileURLToPath(new URL(`../../../services/${store}/database`, import.meta.url)), dir, { recursive: true })
  const table = `${store}.${BUSY_TABLE[store]}`
  const statements = [
    `alter table ${table} add column added_later text not null default ''`,
    `create table ${store}.added_later (id bigint primary key)`,
    `create index on ${table} (added_later)`,
    `grant select, insert on ${store}.added_later to ${store}`,
  ]
  writeFileSync(join(dir, 'tables/9999_added-later.sql'), `${statements.join(';\n')};\n`)
  for (const { name } of readSchemaFiles(dir, store).functions) {
    appendFileSync(join(dir, 'functions', `${name}.sql`), '-- Of the next release.\n')
  }
  return dir
}

/** The second login of each store (docs/operating/rotate.md). Roles belong to the whole server, so no other test uses these names. */
const SECOND_LOGINS = new Map<ServiceName, URL>()

/** Runs the job that creates roles, with a second login. The owner's password does not change. */
async function makeSecondLogin(store: StoreName): Promise<URL> {
  const { database } = h.system
  const url = new URL(database.urlFor(store))
  url.username = `${store}_${randomBytes(4).toString('hex')}`
  url.password = `n${randomBytes(24).toString('hex')}`
  await promisify(execFile)(process.execPath, ['deploy/image/src/roles.ts', store], {
    cwd: fileURLToPath(new URL('../../..', import.meta.url)),
    env: {
      SVC_DATABASE_URL: database.adminUrl,
      SVC_DATABASE_LOGIN: url.username,
      SVC_DATABASE_PASSWORD: url.password,
      SVC_DATABASE_OWNER_PASSWORD: decodeURIComponent(new URL(database.urlFor(`${store}_owner`)).password),
    },
  })
  SECOND_LOGINS.set(store, url)
  return url
}

async function removeSecondLogins(): Promise<void> {
  if (SECOND_LOGINS.size === 0) return
  const admin = postgres(h.system.database.adminUrl, { max: 1, onnotice: () => {} })
  for (const { username } of SECOND_LOGINS.values()) await admin`drop role ${admin(username)}`
  await admin.end()
}

/** The environment of a service's process after its passwords were changed. */
async function secondCredentialsOf(service: ServiceName): Promise<NodeJS.ProcessEnv> {
  const store = STORES.find((one) => one === service)
  return {
    SVC_NATS_URL: h.system.nats.urlFor(`${service}_b`),
    ...(store === undefined ? {} : { SVC_DATABASE_URL: (await makeSecondLogin(store)).href }),
  }
}

test('each store is migrated under load', { timeout: 120_000 }, async () => {
  await load.more(ANSWERS)
  for (const store of STORES) {
    const dir = withOneMore(store)
    try {
      await migrate({ url: h.system.database.urlFor(`${store}_owner`), schema: store, dir })
    } finally {
      rmSync(dir, { recursive: true })
    }
    await load.more(ANSWERS)
  }
  expect(load.wrong).toEqual([])
})

describe('during a rolling restart every request gets the right answer', () => {
  test.each(SERVICES)('of %s', { timeout: 180_000 }, async (service) => {
    await load.more(ANSWERS)
    const credentials = await secondCredentialsOf(service)
    for (const name of [`${service}-1`, `${service}-2`]) {
      expect(await h.system.processes.get(name)?.stop()).toEqual({ code: 0, reason: 'exit code 0' })
      await load.more(ANSWERS)
      await h.system.start(name, credentials)
      await load.allReady()
      await load.more(ANSWERS)
    }
    expect(load.wrong).toEqual([])
  })

  test('afterwards each process uses its second logins, and no connection uses the first login of a database', async () => {
    const admin = postgres(h.system.database.adminUrl, { max: 1, onnotice: () => {} })
    try {
      const rows = await admin<{ login: string }[]>`
        select distinct usename as login from pg_stat_activity
        where datname = current_database() and application_name like 'svc-%'`
      const logins = [...SECOND_LOGINS.values()].map(({ username }) => username)
      expect(rows.map(({ login }) => login).toSorted()).toEqual(logins.toSorted())
    } finally {
      await admin.end()
    }
  })

  test('afterwards nothing is lost, repeated or out of order', { timeout: 120_000 }, async () => {
    expect(await load.finish()).toEqual([])
  })
})
