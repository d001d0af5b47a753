/**
 * Anybody may ask for challenges and registrations. A flood of them must not delay the nonce checks and key lookups
 * that each request of a registered agent needs.
 */
import { admitRequest, findAgent, issueChallenge, registerAgent } from '@svc/contracts/identity.ts'
import { formatPublicKey } from '@svc/svc1/public-key.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Harness, startHarness } from './harness.ts'
import { newKey, newNonce } from './store.ts'

const BURST = 1_000
/** Few calls may run or wait, but the burst may arrive in several parts, and each part finds free slots. */
const MAX_TAKEN = BURST / 2

let h: Harness
beforeAll(async () => {
  h = await startHarness({ replicas: 1 })
})
afterAll(() => h[Symbol.asyncDispose]())

/** Makes the calls that each request of a registered agent needs. */
async function askAsAgent(agentId: string): Promise<unknown> {
  const { revoked, replayed } = await h.call(admitRequest, { agent_id: agentId, nonce: newNonce() })
  const { agent } = await h.call(findAgent, { agent_id: agentId })
  return [revoked, replayed, agent?.agent_id]
}

test('a burst of challenges is refused past its bound, and takes no capacity from nonces and keys', async () => {
  const { agentId } = await h.register('alice')
  const pubkey = formatPublicKey(newKey().publicKey)
  const burst = Array.from({ length: BURST }, () => h.codeOf(issueChallenge, { pubkey }))
  expect(await askAsAgent(agentId)).toEqual([false, false, agentId])
  const taken = (await Promise.all(burst)).filter((code) => code === 'ok').length
  expect((await Promise.all(burst)).filter((code) => code === 'unavailable')).toHaveLength(BURST - taken)
  expect(taken).toBeGreaterThan(0)
  expect(taken).toBeLessThan(BURST)
})

test('registrations that stall in the database leave capacity to nonces and keys', async () => {
  const { agentId } = await h.register('ben')
  const registration = await h.prepare(newKey(), 'carol')
  const over = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  const lock = h.database.transaction(async (tx) => {
    await tx`lock table identity.consumed_challenges in access exclusive mode`
    held.resolve()
    await over.promise
  })
  await held.promise
  const burst = Array.from({ length: BURST }, () => h.codeOf(registerAgent, registration))
  await eventually(async () => {
    const waiting = await h.database.run(
      (sql) => sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return waiting.length > 0
  })
  expect(await askAsAgent(agentId)).toEqual([false, false, agentId])
  over.resolve()
  await lock
  const codes = await Promise.all(burst)
  expect(codes).toContain('ok')
  expect(codes.filter((code) => code === 'unavailable').length).toBeGreaterThan(BURST - MAX_TAKEN)
})
