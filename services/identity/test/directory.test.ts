import { findAgent, findAgentByName, getIdentity, listAgents } from '@svc/contracts/identity.ts'
import { formatPublicKey } from '@svc/svc1/public-key.ts'
import { anyCodePoint } from '@svc/test/support/any-text.ts'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listAgents as listAgentRows, revokeAgent } from '../src/store/agents.ts'
import { createAgentReaders } from '../src/store/readers.ts'
import { type Harness, startHarness } from './harness.ts'
import { newKey, openTestStore } from './store.ts'

describe('the directory over the bus', () => {
  let h: Harness
  beforeAll(async () => {
    h = await startHarness()
  })
  afterAll(() => h[Symbol.asyncDispose]())

  test('spec 5.3: by id and by exact name, with the key in lower case and the time in Unix seconds', async () => {
    const before = Math.floor(Date.now() / 1000)
    const key = await h.register('alice')
    const agent = {
      agent_id: key.agentId,
      name: 'alice',
      pubkey: formatPublicKey(key.publicKey),
      created_at: expect.any(Number),
      revoked: false,
    }
    const byId = await h.call(findAgent, { agent_id: key.agentId })
    expect(byId).toEqual({ agent })
    expect(await h.call(findAgentByName, { name: 'alice' })).toEqual(byId)
    expect(byId.agent?.created_at).toBeGreaterThanOrEqual(before - 1)
    expect(byId.agent?.created_at).toBeLessThanOrEqual(Date.now() / 1000 + 1)
  })

  test.each(['Alice', 'alic', 'alicee', 'alice ', 'a%', '', 'alice\0', '\ud800'])(
    'spec 5.9: exact names only; no agent has %j',
    async (name) => {
      expect(await h.call(findAgentByName, { name })).toEqual({ agent: null })
    },
  )

  test('an unknown id: null to find, not_found to get', async () => {
    const { agentId } = newKey()
    expect(await h.call(findAgent, { agent_id: agentId })).toEqual({ agent: null })
    expect(await h.codeOf(getIdentity, { agent_id: agentId })).toBe('not_found')
  })
})

describe('spec 5.9, 7.9: the list of agents', () => {
  test('is in byte order of the name; pages of any size contain each once; revoked ones are not listed', async () => {
    await using store = await openTestStore()
    // A locale's collation would sort these differently: digits, `-` and `_` beside letters.
    const names = [
      'a-b',
      'a_b',
      'a0b',
      'aab',
      'ab-',
      'ab_',
      'ab0',
      'aba',
      '0ab',
      'zz-',
      'zz_',
      'zzz',
      'm--',
      'm__',
      'm00',
    ]
    const ids = await store.addAgents(...names, 'gone')
    await store.database.run((sql) => sql`update identity.agents set discoverable = true`)
    await store.database.run((sql) => revokeAgent(sql, ids.at(-1) ?? ''))
    const sorted = [...names].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    for (const limit of [1, 2, 7, 15, 100]) {
      const seen: string[] = []
      for (let after = ''; ; after = seen.at(-1) ?? '') {
        const page = await store.database.run((sql) => listAgentRows(sql, after, limit))
        seen.push(...page.map(({ name }) => name))
        if (page.length < limit) break
      }
      expect(seen).toEqual(sorted)
    }
  })

  test('`after` is a position in that order, may be any text and need not exist', async () => {
    await using h = await startHarness({ replicas: 1 })
    const names = ['abc', 'abd', 'b-0', 'b00', 'bbb', '000']
    for (const name of names) await h.register(name)
    await h.database.run((sql) => sql`update identity.agents set discoverable = true`)
    const text = fc.oneof(
      fc.string({ unit: anyCodePoint, maxLength: 6 }),
      fc.stringMatching(/^[ab0-]{0,4}$/),
      fc.constantFrom(...names, 'abc\0', '\0', 'abc\0zzz', 'abc\ud800', '\uffff', '\u{1f600}', 'b'.repeat(5_000)),
    )
    await fc.assert(
      fc.asyncProperty(text, fc.integer({ min: 1, max: 7 }), async (after, limit) => {
        const past = [...names].sort().filter((name) => Buffer.compare(Buffer.from(name), Buffer.from(after)) > 0)
        const { agents, next_cursor } = await h.call(listAgents, { after, limit })
        expect(agents.map(({ name }) => name)).toEqual(past.slice(0, limit))
        expect(next_cursor).toBe(past.length > limit ? past[limit - 1] : '')
      }),
      { numRuns: 150 },
    )
  })

  test('is one indexed query without a sort, whatever the number of agents', async () => {
    await using store = await openTestStore()
    await store.database.run(
      (sql) => sql`
        insert into identity.agents (agent_id, name, public_key, discoverable)
        select 'id' || n, 'name-' || n, decode(repeat('00', 32), 'hex'), n % 10 = 0 from generate_series(1, 5000) n`,
    )
    const [row] = await store.database.run(
      (sql) => sql<{ 'QUERY PLAN': unknown }[]>`
        explain (format json)
        select a.agent_id from identity.agents a
        where a.discoverable and not a.revoked and a.name > 'name-3' order by a.name limit 50`,
    )
    const plan = JSON.stringify(row?.['QUERY PLAN'])
    expect(plan).toContain('"Index Name":"agents_listed"')
    expect(plan).not.toContain('Sort')
    expect(plan).not.toContain('Seq Scan')
  })
})

describe('reads of single agents', () => {
  test('50 concurrent reads are one query, each with its own answer', async () => {
    await using store = await openTestStore()
    const names = Array.from({ length: 25 }, (_, index) => `agent-${index}`)
    const ids = await store.addAgents(...names)
    let queries = 0
    const counted = {
      ...store.database,
      run: (work: Parameters<typeof store.database.run>[0]) => {
        queries += 1
        return store.database.run(work)
      },
    }
    const readers = createAgentReaders(counted as typeof store.database)
    const unknown = newKey().agentId
    const byId = await Promise.all([...ids, ...ids, unknown].map((id) => readers.byId(id)))
    expect(byId.map((record) => record?.name)).toEqual([...names, ...names, undefined])
    const byName = await Promise.all([...names, 'nobody'].map((name) => readers.byName(name)))
    expect(byName.map((record) => record?.agent_id)).toEqual([...ids, undefined])
    expect(queries).toBe(2)
  })
})
