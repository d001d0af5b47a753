/**
 * Zero downtime: an upgrade, which is migrations first, and then every process of every service stopped and started again, one after the other, all of it
 * under load. Each request has its proper answer, and streams close with a last cursor. Source: issue 5, 5; design.md, Failing.
 *
 * The migrations are of the kind that is allowed (style.md, Comments and SQL: old and new code both run after them): a column, a table and an
 * index in each store. So it holds that they take no lock for long enough to be noticed, that processes go on with their connections and
 * prepared statements on changed tables, and that any half of a service can be replaced. All processes run the code of this tree: it cannot
 * say whether an older release and this one understand each other.
 */
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SERVICES, STORES, type StoreName } from '@svc/local/topology.ts'
import { migrate } from '@svc/postgres/migrate.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Harness, startHarness } from '../../support/harness.ts'
import { type RollingLoad, rollingSystem, startRollingLoad } from './load.ts'

/** Answers between two restarts. */
const ANSWERS = process.env.SVC_FAULTS === 'long' ? 400 : 30

/** A table of each store that everything goes through. */
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
    env: { SVC_DRAIN_SECONDS: '1', SVC_DAILY_FREE_UNITS: '10000000', SVC_DAILY_HARD_LIMIT: '10000000' },
  })
  load = await startRollingLoad(rollingSystem(h))
})
afterAll(async () => {
  await load?.[Symbol.asyncDispose]()
  await h?.[Symbol.asyncDispose]()
})

/** The migrations of a store, and one more. */
function withOneMore(store: StoreName): string {
  const dir = mkdtempSync(join(tmpdir(), `svc-migrations-${store}-`))
  cpSync(fileURLToPath(new URL(`../../../services/${store}/migrations`, import.meta.url)), dir, { recursive: true })
  const table = `${store}.${BUSY_TABLE[store]}`
  const statements = [
    `alter table ${table} add column added_later text not null default ''`,
    `create table ${store}.added_later (id bigint primary key)`,
    `create index on ${table} (added_later)`,
    `grant select, insert on ${store}.added_later to ${store}`,
  ]
  writeFileSync(join(dir, '9999_added-later.sql'), `${statements.join(';\n')};\n`)
  return dir
}

test('issue 5, 5: each store is migrated under load', { timeout: 60_000 }, async () => {
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

describe('issue 5, 5: a rolling restart answers no request with anything but its proper answer', () => {
  test.each(SERVICES)('of %s', { timeout: 90_000 }, async (service) => {
    await load.more(ANSWERS)
    for (const name of [`${service}-1`, `${service}-2`]) {
      expect(await h.system.processes.get(name)?.stop()).toEqual({ code: 0, reason: 'exit code 0' })
      await load.more(ANSWERS)
      await h.system.start(name)
      await load.more(ANSWERS)
    }
    expect(load.wrong).toEqual([])
  })

  test('and nothing is lost, repeated or out of order', { timeout: 60_000 }, async () => {
    expect(await load.finish()).toEqual([])
  })
})
