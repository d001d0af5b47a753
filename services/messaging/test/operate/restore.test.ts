/** README, Moving the data: how a logical copy breaks the order of exports, and how to repair it. */
import { readFileSync } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import type postgres from 'postgres'
import { expect, test } from 'vitest'
import { type Harness, startHarness } from '../support/harness.ts'

const BACK_UP = readFileSync(new URL('../../../../docs/operating/back-up.md', import.meta.url), 'utf8')
const README = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')

/** The commands that the page tells an operator to run. */
function renumbering(): string {
  const [, section = ''] = README.split('\n## Moving the data\n')
  const [, statement = ''] = /```sql\n([\s\S]*?)```/.exec(section) ?? []
  return statement
}

/** Copies all rows of all tables with COPY, as `pg_dump --data-only` does. */
async function copyAll(from: postgres.Sql, to: postgres.Sql): Promise<void> {
  const tables = await from<{ name: string }[]>`
    select c.oid::regclass::text as name from pg_class c
    where c.relnamespace = 'messaging'::regnamespace and c.relkind = 'r' and c.relname not in ('migrations', 'functions')`
  expect(tables.length).toBeGreaterThan(8)
  for (const { name } of tables) {
    await to.unsafe(`truncate ${name}`)
    await pipeline(
      await from.unsafe(`copy ${name} to stdout`).readable(),
      await to.unsafe(`copy ${name} from stdin`).writable(),
    )
  }
}

async function exportedIds(h: Harness, agent: string, limit: number): Promise<string[]> {
  const ids: string[] = []
  let after: string | null = null
  // Bounded, because the tested fault would make the export endless.
  for (let page = 0; page < 20; page += 1) {
    const found: Awaited<ReturnType<Harness['exported']>> = await h.exported(agent, { after, limit })
    ids.push(...found.ids)
    if (found.next === '') break
    after = found.next
  }
  return ids
}

test('spec 7.15; ADR 19: after a logical restore, exports are complete and in order once messages have new numbers', async () => {
  await using source = await startHarness()
  const old = source.openAdmin()
  await source.setPolicy('alice', 'open', 1)
  await source.setPolicy('bob', 'open', 1)
  const sent: string[] = []
  for (let round = 0; round < 5; round += 1) {
    sent.push(
      (await source.send({ from: 'alice', to: 'bob' })).id,
      (await source.send({ from: 'bob', to: 'alice' })).id,
    )
  }
  // The old server had many more transactions than the new server.
  await old`update messaging.messages set batch = batch + 1000000000`
  expect(await old`select from messaging.messages where batch < 1000000000`).toHaveLength(0)

  await using restored = await startHarness()
  const admin = restored.openAdmin()
  await copyAll(old, admin)
  expect((await restored.inbox('bob')).ids).toHaveLength(5)
  // Before the renumbering, all messages look newer than the oldest open transaction, so exports wait for ever.
  expect((await restored.exported('alice', { limit: 100 })).ids).toEqual([])

  await admin.unsafe(renumbering())
  for (const limit of [100, 3]) expect(await exportedIds(restored, 'alice', limit)).toEqual(sent)
  const { id } = await restored.send({ from: 'alice', to: 'bob' })
  expect(await exportedIds(restored, 'alice', 4)).toEqual([...sent, id])
  expect((await restored.inbox('bob')).ids).toHaveLength(6)
})

test('docs/operating/back-up.md, Restore to a point in time: a log continues after its raised head, and a client that had read further misses nothing', async () => {
  const [, statement = ''] = /^ *(update messaging\.logs .*;)$/m.exec(BACK_UP) ?? []
  await using h = await startHarness()
  await h.setPolicy('bob', 'open', 1)
  for (let sent = 0; sent < 3; sent += 1) await h.send({ from: 'alice', to: 'bob' })
  // After the restored moment, the client had read up to this cursor.
  const seen = 9
  await h.openAdmin().unsafe(statement)
  const { id } = await h.send({ from: 'alice', to: 'bob' })
  const found: unknown[] = []
  let after = seen
  for (let page = 0; page < 5 && found.length === 0; page += 1) {
    const events = await h.events('bob', after)
    found.push(...events.events.map((event) => event.id))
    after = events.next
  }
  expect(found).toEqual([id])
})
