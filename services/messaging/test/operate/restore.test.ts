/** README, Moving the data: how a logical copy breaks the order of exports, and how to repair it. */
import { readFileSync } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import type postgres from 'postgres'
import { describe, expect, test } from 'vitest'
import { verifyLogs } from '../../src/handlers/operate/books.ts'
import { raiseHeads } from '../../src/handlers/operate/raise-heads.ts'
import { type Harness, startHarness } from '../support/harness.ts'
import { outcomeOf } from '../support/outcome.ts'

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

const WHY = { dry_run: false, reason: 'restored' }
const OPERATOR = { operator: 'olga' }

/** Raises all heads, one log in a call, as a command does that is killed and repeated after each call. */
async function raise(h: Harness, reference: string, by: number): Promise<number[]> {
  const raised: number[] = []
  for (let more = true; more; ) {
    const batch = await raiseHeads(h.deps, { reference, by, limit: 1, ...WHY }, OPERATOR)
    raised.push(batch.raised)
    more = batch.more
  }
  return raised
}

const books = (h: Harness) => verifyLogs(h.deps, { after: '', limit: 100, id: null })

describe('spec 9.3: after a restore, heads are raised above every cursor that clients have seen', () => {
  test('a client that had read further misses nothing, and a log that is opened later begins above the raise too', async () => {
    await using h = await startHarness()
    await h.setPolicy('bob', 'open', 1)
    for (let sent = 0; sent < 3; sent += 1) await h.send({ from: 'alice', to: 'bob' })
    await raise(h, 'first', 10_000)
    await h.setPolicy('carol', 'open', 1)
    // After the restored moment, each client had read up to this cursor.
    for (const name of ['bob', 'carol', 'dave']) {
      const { id } = await h.send({ from: 'alice', to: name })
      const found: unknown[] = []
      for (let [after, page] = [9, 0]; page < 5 && found.length === 0; page += 1) {
        const events = await h.events(name, after)
        found.push(...events.events.map((event) => event.id))
        after = events.next
      }
      expect(found).toEqual([id])
    }
    expect((await books(h)).discrepancies).toEqual([])
  })

  test('a reference raises each log once, however often it is repeated, and keeps its number', async () => {
    await using h = await startHarness()
    for (const name of ['bob', 'carol', 'dave']) await h.setPolicy(name, 'open', 1)
    const request = { reference: 'first', by: 50, limit: 1 }
    expect(await raiseHeads(h.deps, { ...request, dry_run: true }, OPERATOR)).toEqual({
      raised: 3,
      logs: 3,
      more: false,
    })
    await raiseHeads(h.deps, { ...request, ...WHY }, OPERATOR)
    expect(await raiseHeads(h.deps, { ...request, dry_run: true }, OPERATOR)).toMatchObject({ raised: 2 })
    expect(await outcomeOf(raiseHeads(h.deps, { ...request, by: 51, ...WHY }, OPERATOR))).toBe('id_conflict')
    expect(await raise(h, 'first', 50)).toEqual([1, 1, 0])
    expect(await raise(h, 'first', 50)).toEqual([0])
    expect(await raiseHeads(h.deps, { ...request, dry_run: true }, OPERATOR)).toMatchObject({ raised: 0 })
    const heads = () => h.openAdmin()<{ head: string }[]>`select distinct head::text from messaging.logs`
    expect(await heads()).toEqual([{ head: '50' }])
    expect(await outcomeOf(raiseHeads(h.deps, { ...request, dry_run: false }, OPERATOR))).toBe('invalid_request')
    await raise(h, 'second', 7)
    expect(await heads()).toEqual([{ head: '57' }])
    const audit =
      await h.openAdmin()`select operator, action, reference, reason, result from messaging.audit order by id`
    expect(audit).toEqual([
      { operator: 'olga', action: 'raise-heads', reference: 'first', reason: 'restored', result: { by: 50 } },
      { operator: 'olga', action: 'raise-heads', reference: 'second', reason: 'restored', result: { by: 7 } },
    ])
  })

  test('the books stay right, and still find an entry that a raised log has lost', async () => {
    await using h = await startHarness()
    await h.setPolicy('bob', 'open', 1)
    for (let sent = 0; sent < 3; sent += 1) await h.send({ from: 'alice', to: 'bob' })
    await raise(h, 'first', 10_000)
    await h.send({ from: 'alice', to: 'bob' })
    expect(await books(h)).toMatchObject({ checked: 1, discrepancies: [] })
    await h.openAdmin()`delete from messaging.entries where log = 'bob' and position = 2`
    expect((await books(h)).discrepancies).toEqual([
      { rule: 'entries of a log', id: 'bob', day: null, expected: 4, found: 3 },
    ])
  })
})
