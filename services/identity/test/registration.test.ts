import { createSecretKey, randomUUID } from 'node:crypto'
import { issueChallenge, registerAgent } from '@svc/contracts/identity.ts'
import type { Registration } from '@svc/contracts/resources.ts'
import { checkWork, solveWork } from '@svc/svc1/pow.ts'
import { formatPublicKey } from '@svc/svc1/public-key.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { issueChallenge as issueChallengeHandler } from '../src/handlers/issue-challenge.ts'
import { consumeChallenge, purgeChallenges } from '../src/store/consumed-challenges.ts'
import { type Harness, randomKey, startHarness } from './harness.ts'
import { newKey, openTestStore } from './store.ts'

let h: Harness
beforeAll(async () => {
  h = await startHarness()
})
afterAll(() => h[Symbol.asyncDispose]())

let names = 0
function newName(): string {
  names += 1
  return `agent-${names}`
}

async function countConsumed(): Promise<number> {
  const rows = await h.database.run((sql) => sql`select from identity.consumed_challenges`)
  return rows.length
}

async function findOwner(name: string): Promise<string | undefined> {
  const [row] = await h.database.run(
    (sql) => sql<{ agent_id: string }[]>`select agent_id from identity.agents where name = ${name}`,
  )
  return row?.agent_id
}

async function wrongNonce(challenge: string, difficulty: number): Promise<string> {
  for (let counter = 0; ; counter += 1) if (!checkWork(challenge, String(counter), difficulty)) return String(counter)
}

describe('spec 5.4: a challenge', () => {
  test('is issued without any store, and every process accepts it', async () => {
    const [key, name] = [newKey(), newName()]
    const [secret = ''] = h.config.challengeKeys
    const storeless = { challengeKeys: [createSecretKey(secret, 'utf8')] as const, powDifficulty: 4 }
    const pubkey = formatPublicKey(key.publicKey)
    const { challenge } = await issueChallengeHandler(storeless, { pubkey })
    const registration = { name, pubkey, challenge, nonce: await solveWork(challenge, 4) }
    expect(await h.codeOf(registerAgent, registration)).toBe('ok')
  })

  test.each([
    ['the identity', `ed25519:01${'00'.repeat(31)}`],
    ['small order', `ed25519:${'00'.repeat(32)}`],
    ['mixed order', 'ed25519:16a567fe7d4ef5482ab4012c369bf8c5f11e8d0c2559dcda50fde59708f8aee5'],
    ['not canonical', `ed25519:ee${'ff'.repeat(30)}7f`],
  ])('spec 2.2: a key with %s gets no challenge, and is not registered without one', async (_, pubkey) => {
    expect(await h.codeOf(issueChallenge, { pubkey })).toBe('invalid_pubkey')
    const { challenge } = await h.call(issueChallenge, { pubkey: formatPublicKey(newKey().publicKey) })
    const registration = { name: newName(), pubkey, challenge, nonce: await solveWork(challenge, 4) }
    expect(await h.codeOf(registerAgent, registration)).toBe('challenge_invalid')
  })

  test('a key that the gateway has checked is not checked again', async () => {
    const request = { pubkey: `ed25519:${'00'.repeat(32)}`, key_checked: true }
    expect(await h.codeOf(issueChallenge, request)).toBe('ok')
  })

  test('a rotation of keys fails no registration: the first key makes challenges, and all keys validate them', async () => {
    const [oldKey, newKeyText] = [randomKey(), randomKey()]
    await using before = await startHarness({ replicas: 1, challengeKeys: [oldKey] })
    await using during = await startHarness({ replicas: 1, challengeKeys: [newKeyText, oldKey] })
    const [old, current] = [newKey(), newKey()]
    await during.call(registerAgent, await before.prepare(old, 'from-the-old'))
    const registration = await during.prepare(current, 'from-the-new')
    expect(await before.codeOf(registerAgent, registration)).toBe('challenge_invalid')
    expect(await during.codeOf(registerAgent, registration)).toBe('ok')
  })
})

describe('spec 5.6: registration', () => {
  test.each([
    ['the same challenge', (first: Registration) => first],
    ['no challenge at all', (first: Registration) => ({ ...first, challenge: '', nonce: '' })],
    ['a challenge that is nobody’s', (first: Registration) => ({ ...first, challenge: 'x.y' })],
  ])('identical repeat with %s: the same answer, and nothing is consumed', async (_, change) => {
    const registration = await h.prepare(newKey(), newName())
    const answer = await h.call(registerAgent, registration)
    const consumed = await countConsumed()
    expect(await h.call(registerAgent, change(registration))).toEqual(answer)
    expect(await countConsumed()).toBe(consumed)
  })

  test('only success consumes: a challenge that was refused for its name or work is valid afterwards', async () => {
    const [key, taken] = [newKey(), newName()]
    await h.register(taken)
    const consumed = await countConsumed()
    const registration = await h.prepare(key, taken)
    expect(await h.codeOf(registerAgent, registration)).toBe('name_taken')
    const badWork = { ...registration, name: newName(), nonce: await wrongNonce(registration.challenge, 4) }
    expect(await h.codeOf(registerAgent, badWork)).toBe('pow_invalid')
    expect(await countConsumed()).toBe(consumed)
    expect(await h.codeOf(registerAgent, { ...registration, name: newName() })).toBe('ok')
    expect(await countConsumed()).toBe(consumed + 1)
  })
})

describe('spec 5.6: concurrent, over two processes', () => {
  const CROWD = 50
  const crowd = <T>(make: (index: number) => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: CROWD }, (_, index) => make(index)))
  const tally = (codes: string[]): Record<string, number> =>
    Object.fromEntries([...new Set(codes)].map((code) => [code, codes.filter((one) => one === code).length]))

  test('50 identical registrations with one challenge: all succeed, and the challenge is consumed once', async () => {
    const [key, name] = [newKey(), newName()]
    const consumed = await countConsumed()
    const registration = await h.prepare(key, name)
    expect(tally(await crowd(() => h.codeOf(registerAgent, registration)))).toEqual({ ok: CROWD })
    expect(await findOwner(name)).toBe(key.agentId)
    expect(await countConsumed()).toBe(consumed + 1)
  })

  test('50 identical registrations, each with its own challenge: all succeed, and one challenge is consumed', async () => {
    const [key, name] = [newKey(), newName()]
    const consumed = await countConsumed()
    const registrations = await crowd(() => h.prepare(key, name))
    const codes = await Promise.all(registrations.map((registration) => h.codeOf(registerAgent, registration)))
    expect(tally(codes)).toEqual({ ok: CROWD })
    expect(await countConsumed()).toBe(consumed + 1)
  })

  test('50 keys for one name: one wins, the others get name_taken and keep their challenge', async () => {
    const name = newName()
    const consumed = await countConsumed()
    const registrations = await crowd(() => h.prepare(newKey(), name))
    const codes = await Promise.all(registrations.map((registration) => h.codeOf(registerAgent, registration)))
    expect(tally(codes)).toEqual({ ok: 1, name_taken: CROWD - 1 })
    expect(await countConsumed()).toBe(consumed + 1)
    const losers = registrations.filter((_, index) => codes[index] === 'name_taken')
    const again = await Promise.all(losers.map((one) => h.codeOf(registerAgent, { ...one, name: newName() })))
    expect(tally(again)).toEqual({ ok: CROWD - 1 })
  })

  test('one key for 50 names: one wins, the others get key_registered, one challenge is consumed', async () => {
    const key = newKey()
    const consumed = await countConsumed()
    const registrations = await crowd(() => h.prepare(key, newName()))
    const codes = await Promise.all(registrations.map((registration) => h.codeOf(registerAgent, registration)))
    expect(tally(codes)).toEqual({ ok: 1, key_registered: CROWD - 1 })
    expect(await countConsumed()).toBe(consumed + 1)
  })

  test('one challenge for 50 names: one wins, the others get challenge_consumed', async () => {
    const registration = await h.prepare(newKey(), newName())
    const registrations = Array.from({ length: CROWD }, () => ({ ...registration, name: newName() }))
    const codes = await Promise.all(registrations.map((one) => h.codeOf(registerAgent, one)))
    expect(tally(codes)).toEqual({ ok: 1, challenge_consumed: CROWD - 1 })
    expect(
      await Promise.all(registrations.map(({ name }) => findOwner(name))).then((all) => all.filter(Boolean)),
    ).toHaveLength(1)
  })

  test('50 conflicting pairs of key and name never deadlock, and each name has one owner', async () => {
    const keys = Array.from({ length: 10 }, newKey)
    const rivals = Array.from({ length: 5 }, newName)
    const registrations = await Promise.all(keys.flatMap((key) => rivals.map((name) => h.prepare(key, name))))
    const codes = await Promise.all(registrations.map((registration) => h.codeOf(registerAgent, registration)))
    expect(tally(codes).ok).toBe(rivals.length)
    expect(codes.filter((code) => !['ok', 'name_taken', 'key_registered'].includes(code))).toEqual([])
    expect(new Set(await Promise.all(rivals.map(findOwner))).size).toBe(rivals.length)
  })
})

describe('consumed challenges', () => {
  const seconds = (): number => Math.floor(Date.now() / 1000)

  test('are stored until they cannot be consumed any more, so storage is bounded', async () => {
    await using store = await openTestStore()
    const expiries = [-3_600, -601, -540, -301, 0, 300].map((age) => seconds() + age)
    await store.database.run(
      (sql) => sql`
        insert into identity.consumed_challenges (id, expires_at)
        select gen_random_uuid(), e from unnest(${expiries}::bigint[]) e`,
    )
    expect(await store.database.run((sql) => purgeChallenges(sql, 1))).toBe(1)
    expect(await store.database.run((sql) => purgeChallenges(sql, 10))).toBe(1)
    expect(await store.database.run((sql) => purgeChallenges(sql, 10))).toBe(0)
    expect(await store.database.run((sql) => sql`select from identity.consumed_challenges`)).toHaveLength(4)
  })

  test('a purged challenge cannot be consumed again, even if the clock of a process is wrong', async () => {
    await using store = await openTestStore()
    for (const [age, consumable] of [
      [-301, false],
      [-240, true],
      [300, true],
    ] as const) {
      const id = randomUUID()
      const consume = (): Promise<boolean> =>
        store.database.transaction((tx) => consumeChallenge(tx, id, seconds() + age))
      expect(await consume()).toBe(consumable)
      expect(await consume()).toBe(false)
    }
  })
})
