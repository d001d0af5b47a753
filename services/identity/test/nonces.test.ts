import { ServiceError } from '@svc/contracts/errors.ts'
import type { Database } from '@svc/postgres/database.ts'
import { sqlStateOf } from '@svc/postgres/errors.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { nonceKey } from '../src/domain/nonce-key.ts'
import { revokeAgent } from '../src/store/agents.ts'
import { type Admission, admitBatch, createAdmit, truncateNonces } from '../src/store/nonces.ts'
import { newNonce, openTestStore, type TestStore } from './store.ts'

const SLOT_SECONDS = 600
/** The start of a slot at a time that the clock never reaches. */
const SLOT_START = 3_000_000 * SLOT_SECONDS
const SIGNER = 'A'.repeat(44)
const MS = 0.001

function at(seconds: number): Date {
  return new Date((SLOT_START + seconds) * 1000)
}

async function admitOne(database: Database, nonce: string, seconds: number, agentId = SIGNER): Promise<string> {
  const [result] = await admitBatch(database, [{ agentId, nonce }], at(seconds))
  return result?.replayed === true ? 'replayed' : 'new'
}

async function truncateAt(database: Database, seconds: number): Promise<boolean> {
  return database.run((sql) => truncateNonces(sql, at(seconds)))
}

/** Like `truncateAt`, but returns undefined if the truncation gives up, as it does after waiting 1 s for the partition. */
async function tryToTruncateAt(database: Database, seconds: number): Promise<boolean | undefined> {
  try {
    return await truncateAt(database, seconds)
  } catch (error) {
    if (error instanceof ServiceError && sqlStateOf(error.cause) === '55P03') return undefined
    throw error
  }
}

async function countNonces(database: Database): Promise<number> {
  const rows = await database.run((sql) => sql`select from identity.nonces`)
  return rows.length
}

describe('spec 3.7: a nonce is remembered for at least ten minutes', () => {
  // Every history has its own time, far from the others, and finds the partitions as the previous history left them.
  let store: TestStore
  let begin = 0
  beforeAll(async () => {
    store = await openTestStore()
  })
  afterAll(() => store[Symbol.asyncDispose]())
  beforeEach(() => {
    begin += 1_000 * SLOT_SECONDS
  })

  const offsets = [0, 30, 60 - MS, 60, 300, 540, SLOT_SECONDS - MS]
  const ages = [0, 1, 59, 60, 61, 300, SLOT_SECONDS - MS, SLOT_SECONDS]
  test.each(offsets.flatMap((offset) => ages.map((age) => [offset, age] as const)))(
    'consumed %d s into a slot, used again %d s later: replayed, whatever was truncated',
    async (offset, age) => {
      const nonce = newNonce()
      const first = begin + offset
      expect(await admitOne(store.database, nonce, first)).toBe('new')
      for (let second = first; second < first + age; second += 20) await truncateAt(store.database, second)
      await truncateAt(store.database, first + age)
      expect(await admitOne(store.database, nonce, first + age)).toBe('replayed')
    },
  )

  test('for every history: new the first time, replayed within ten minutes of the last use', async () => {
    const step = fc.record({
      pauseSeconds: fc.double({ min: 0, max: 700, noNaN: true }),
      nonce: fc.nat(5),
      truncate: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), fc.nat(SLOT_SECONDS), async (steps, offset) => {
        begin += 1_000 * SLOT_SECONDS
        let now = begin + offset
        const nonces = Array.from({ length: 6 }, () => newNonce())
        const lastUse = new Map<number, number>()
        for (const { pauseSeconds, nonce, truncate } of steps) {
          now += pauseSeconds
          if (truncate) await truncateAt(store.database, now)
          const answer = await admitOne(store.database, nonces[nonce] ?? '', now)
          const age = now - (lastUse.get(nonce) ?? Number.NEGATIVE_INFINITY)
          if (age === Number.POSITIVE_INFINITY) expect(answer).toBe('new')
          else if (age <= SLOT_SECONDS) expect(answer).toBe('replayed')
          lastUse.set(nonce, now)
        }
      }),
      { numRuns: 40 },
    )
  })

  test('it is forgotten after 21 minutes at most, and storage does not grow', async () => {
    await using own = await openTestStore()
    const nonce = newNonce()
    const perSlot = SLOT_SECONDS / 20
    const stored: number[] = []
    for (let second = 0; second < 12 * SLOT_SECONDS; second += 20) {
      await admitOne(own.database, newNonce(), begin + second)
      await truncateAt(own.database, begin + second)
      stored.push(await countNonces(own.database))
      if (second % (21 * 60) === 0) expect(await admitOne(own.database, nonce, begin + second)).toBe('new')
    }
    // At most three slots of nonces, plus three of each slot that its first minute wrote twice. The other nonce adds a
    // few.
    expect(Math.max(...stored)).toBeLessThanOrEqual(3 * (perSlot + 3) + 6)
  })

  test('it is remembered per signer', async () => {
    const nonce = newNonce()
    expect(await admitOne(store.database, nonce, 300)).toBe('new')
    expect(await admitOne(store.database, nonce, 300, 'B'.repeat(44))).toBe('new')
    expect(await admitOne(store.database, nonce, 300)).toBe('replayed')
  })

  test('the longest nonce differs from others with the same beginning', async () => {
    const head = newNonce(63)
    expect(await admitOne(store.database, `${head}00`, 300)).toBe('new')
    expect(await admitOne(store.database, `${head}01`, 300)).toBe('new')
    expect(await admitOne(store.database, `${head}00`, 300)).toBe('replayed')
  })
})

describe('nonces of one batch', () => {
  test.each([20, 300])(
    '%d s into a slot: the first of two with one nonce is new, the others are replayed',
    async (seconds) => {
      await using store = await openTestStore()
      const [a, b, c] = [newNonce(), newNonce(), newNonce()]
      expect(await admitOne(store.database, c, seconds)).toBe('new')
      const batch = [a, b, a, c, b, a].map((nonce) => ({ agentId: SIGNER, nonce }))
      const results = await admitBatch(store.database, batch, at(seconds))
      expect(results.map((result) => result.replayed)).toEqual([false, false, true, true, true, true])
    },
  )

  test('of 50 concurrent requests with one nonce, over two processes, one is new and 49 are replayed', async () => {
    await using store = await openTestStore()
    const admits = [createAdmit(store.database), createAdmit(store.other)]
    for (let round = 0; round < 10; round += 1) {
      const nonce = newNonce()
      const results = await Promise.all(
        Array.from({ length: 50 }, (_, index) => admits[index % 2]?.({ agentId: SIGNER, nonce })),
      )
      expect(results.filter((result) => result?.replayed === false)).toHaveLength(1)
    }
  })

  test.each([20, 300])(
    '%d s into a slot: batches that share nonces in any order never deadlock, and admit each once',
    async (seconds) => {
      await using store = await openTestStore()
      const nonces = Array.from({ length: 60 }, () => newNonce())
      const shuffled = (): Admission[] =>
        nonces.map((nonce) => ({ agentId: SIGNER, nonce, order: Math.random() })).sort((a, b) => a.order - b.order)
      const batches = Array.from({ length: 16 }, shuffled)
      const results = await Promise.all(
        // Unlike createAdmit, admitBatch does not retry, so a deadlock would be thrown here.
        batches.map((batch, index) => admitBatch(index % 2 === 0 ? store.database : store.other, batch, at(seconds))),
      )
      const admitted = results.flatMap((batch, index) =>
        batch.flatMap((result, item) => (result.replayed ? [] : [batches[index]?.[item]?.nonce])),
      )
      expect(admitted.sort()).toEqual([...nonces].sort())
    },
  )
})

describe('at the border of two slots, a late commit is awaited', () => {
  const BEFORE = SLOT_SECONDS - MS

  test.each([
    [SLOT_SECONDS, 'commits', 'replayed'],
    [SLOT_SECONDS, 'rolls back', 'new'],
    [SLOT_SECONDS + 60 - MS, 'commits', 'replayed'],
    [SLOT_SECONDS + 60 - MS, 'rolls back', 'new'],
  ])('the second comes at %d s, the first %s: the second is %s', async (seconds, ending, answer) => {
    await using store = await openTestStore()
    const nonce = newNonce()
    const end = Promise.withResolvers<void>()
    const began = Promise.withResolvers<void>()
    const first = store.other
      .transaction(async (tx) => {
        await tx`select from identity.admit(${[SIGNER]}::text[], ${[nonceKey(SIGNER, nonce)]}::uuid[], ${at(BEFORE)})`
        began.resolve()
        await end.promise
        if (ending === 'rolls back') throw new Error('rolled back')
      })
      .catch((error: Error) => expect(error.message).toBe('rolled back'))
    await began.promise
    const second = admitOne(store.database, nonce, seconds)
    await eventually(async () => {
      const waiting = await store.database.run(
        (sql) => sql`
          select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return waiting.length > 0
    })
    end.resolve()
    await first
    expect(await second).toBe(answer)
  })
})

describe('the truncation', () => {
  test.each([
    [0, false],
    [60 - MS, false],
    [60, true],
    [300, true],
    [540 - MS, true],
    [540, false],
    [SLOT_SECONDS - MS, false],
  ])('%d s after a slot began, it empties the slot before the previous one: %s', async (seconds, truncates) => {
    await using store = await openTestStore()
    await admitOne(store.database, newNonce(), 300 - 2 * SLOT_SECONDS)
    expect(await truncateAt(store.database, seconds)).toBe(truncates)
    expect(await countNonces(store.database)).toBe(truncates ? 0 : 1)
  })

  test('is safe on many replicas at once, beside requests', async () => {
    await using store = await openTestStore()
    const old = Array.from({ length: 100 }, () => ({ agentId: SIGNER, nonce: newNonce() }))
    await admitBatch(store.database, old, at(300 - 2 * SLOT_SECONDS))
    const kept = Array.from({ length: 100 }, () => ({ agentId: SIGNER, nonce: newNonce() }))
    const work = kept.map((item, index) => admitBatch(index % 2 === 0 ? store.database : store.other, [item], at(300)))
    const truncations = [store.database, store.other, store.database, store.other].map((on) => tryToTruncateAt(on, 300))
    const outcomes = await Promise.all(truncations)
    if (!outcomes.includes(undefined)) expect(outcomes).toContain(true)
    expect((await Promise.all(work)).flat().every((result) => !result.replayed)).toBe(true)
    expect((await admitBatch(store.database, kept, at(301))).every((result) => result.replayed)).toBe(true)
    if (!outcomes.includes(true)) expect(await truncateAt(store.database, 301)).toBe(true)
    expect(await countNonces(store.database)).toBe(100)
  })

  test('waits for batches of one and of several that share a nonce, and never deadlocks', async () => {
    for (let attempt = 0; attempt < 10; attempt += 1) {
      await using store = await openTestStore()
      await admitOne(store.database, newNonce(), 300 - 2 * SLOT_SECONDS)
      const keyOf = ({ agentId, nonce }: Admission) => nonceKey(agentId, nonce)
      const items = [newNonce(), newNonce()].map((nonce) => ({ agentId: SIGNER, nonce }))
      const [first, second] = items.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
      if (first === undefined || second === undefined) throw new Error('two')
      const begun = await store.other.transaction(async (tx) => {
        let hasGivenUp = false
        const waiting = async (count: number) => {
          const rows = await store.other.run(
            (sql) => sql`
              select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
          )
          return rows.length >= count || hasGivenUp
        }
        await tx`select from identity.admit(${[SIGNER]}::text[], ${[keyOf(first)]}::uuid[], ${at(300)})`
        const several = admitBatch(store.database, [first, second], at(300))
        await eventually(() => waiting(1))
        const truncated = tryToTruncateAt(store.database, 300).then((outcome) => {
          hasGivenUp = outcome === undefined
          return outcome
        })
        await eventually(() => waiting(2))
        const one = admitBatch(store.database, [second], at(300))
        await eventually(() => waiting(3))
        return [Promise.all([several, truncated, one])]
      })
      const answers = await begun[0]
      // The machine was so slow that the truncation gave up.
      if (answers?.[1] === undefined) continue
      expect(answers).toEqual([
        [
          { replayed: true, revoked: false },
          { replayed: false, revoked: false },
        ],
        true,
        [{ replayed: true, revoked: false }],
      ])
      return
    }
    throw new Error('the truncation gives up each time')
  })

  test('gives up after a second if another transaction holds the partition, so that requests do not wait behind it', async () => {
    await using store = await openTestStore()
    await admitOne(store.database, newNonce(), 300 - 2 * SLOT_SECONDS)
    await store.other.transaction(async (tx) => {
      await tx`select from identity.nonces`
      await expect(truncateAt(store.database, 300)).rejects.toMatchObject({ code: 'unavailable' })
    })
    expect(await truncateAt(store.database, 300)).toBe(true)
  })
})

describe('spec 3.5: whether the signer is revoked', () => {
  test('is checked together with the nonce, which is consumed in any case', async () => {
    await using store = await openTestStore()
    const [active = '', revoked = ''] = await store.addAgents('active', 'revoked')
    await store.database.run((sql) => revokeAgent(sql, revoked))
    const batch = [revoked, active, SIGNER, revoked].map((agentId) => ({ agentId, nonce: newNonce() }))
    const results = await admitBatch(store.database, batch)
    expect(results.map((result) => result.revoked)).toEqual([true, false, false, true])
    expect(results.map((result) => result.replayed)).toEqual([false, false, false, false])
    const again = await admitBatch(store.database, batch)
    expect(again).toEqual(results.map(({ revoked }) => ({ revoked, replayed: true })))
  })

  test.each([0, 300])('is answered for a single request, %d s into a slot', async (seconds) => {
    await using store = await openTestStore()
    const [active = '', revoked = ''] = await store.addAgents('active', 'revoked')
    await store.database.run((sql) => revokeAgent(sql, revoked))
    for (const [agentId, expected] of [[active, false] as const, [revoked, true] as const]) {
      const alone = [{ agentId, nonce: newNonce() }]
      expect(await admitBatch(store.database, alone, at(seconds))).toEqual([{ replayed: false, revoked: expected }])
      expect(await admitBatch(store.database, alone, at(seconds))).toEqual([{ replayed: true, revoked: expected }])
    }
  })

  test('an unknown signer, as in a registration, is not revoked, and its nonce counts', async () => {
    await using store = await openTestStore()
    const item = { agentId: SIGNER, nonce: newNonce() }
    const admit = createAdmit(store.database)
    expect(await admit(item)).toEqual({ replayed: false, revoked: false })
    expect(await admit(item)).toEqual({ replayed: true, revoked: false })
  })
})
