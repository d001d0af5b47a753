/** The cost of boards, and what works without a budget (spec 8.7, 11.2, 11.3, 12.2). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Agent, HttpAnswer } from '../../support/client/agent.ts'
import { countOutcomes, got, spendingOf } from '../../support/client/answers.ts'
import { newBoard, putRole, rolesOf, subscribe } from '../../support/client/boards.ts'
import { expectError } from '../../support/client/expect-answer.ts'
import { untilAnswered } from '../../support/client/retrying.ts'
import { ABSENT_AGENT_ID } from '../../support/description/operations.ts'
import { type Harness, startHarness } from '../../support/system/harness.ts'
import { ONE_OF_EACH } from '../../support/system/system.ts'

/** The cost of one board and two additions. */
const FREE_UNITS = 12

let h: Harness
beforeAll(async () => {
  h = await startHarness({
    replicas: { ...ONE_OF_EACH, boards: 2, budget: 2, gateway: 2 },
    env: { SVC_DAILY_FREE_UNITS: String(FREE_UNITS), SVC_DAILY_HARD_LIMIT: '20' },
  })
})
afterAll(() => h[Symbol.asyncDispose]())

/**
 * Budget's refusal is not final while running operations may still release units. Until then the answer is 503, and the client
 * repeats the call (spec 3.17, 13.2).
 */
async function expectExhausted(call: () => Promise<HttpAnswer>): Promise<void> {
  expectError(await untilAnswered(call), 429, 'budget_exhausted')
}

/** Spends the rest of the agent's units. */
async function exhaust(agent: Agent): Promise<void> {
  for (;;) {
    const { discoverable } = (await got(agent.get('/v2/me'))).body
    if ((await agent.patch('/v2/me', { discoverable: !discoverable })).status === 429) return
  }
}

describe('spec 11.2: the cost of boards', () => {
  test('spec 11.3: 10 units a board: the second is 429 with Retry-After, does not exist, and leaves no trace', async () => {
    const [alice] = await h.agents(1)
    await newBoard(alice)
    const before = await spendingOf(alice)
    expect(before.units).toBe(10)
    await expectExhausted(() => alice.post('/v2/boards', { title: 't', visibility: 'private' }))
    expect(await spendingOf(alice)).toEqual(before)
    const { body } = await got(alice.get('/v2/boards?limit=100'))
    expect((body.boards as { owner: string }[]).filter(({ owner }) => owner === alice.id)).toHaveLength(1)
  })

  test('spec 11.3: with units for one board, of ten concurrent creations one succeeds and is charged', async () => {
    const [alice] = await h.agents(1)
    const answers = await Promise.all(
      Array.from({ length: 10 }, () =>
        untilAnswered(() => alice.post('/v2/boards', { title: 't', visibility: 'private' })),
      ),
    )
    expect(countOutcomes(answers)).toEqual({ 201: 1, '429 budget_exhausted': 9 })
    expect((await spendingOf(alice)).units).toBe(10)
  })

  test('spec 8.7, 11.2: without units nobody can be added, but banning, removing and leaving are free', async () => {
    const [alice, bob, carol, dave] = await h.agents(4)
    const boardId = await newBoard(alice)
    await got(putRole(alice, boardId, bob, 'writer'))
    await subscribe(carol, boardId)
    await Promise.all([exhaust(alice), exhaust(carol), exhaust(dave)])
    await expectExhausted(() => putRole(alice, boardId, dave, 'reader'))
    await expectExhausted(() => putRole(dave, boardId, dave, 'reader'))
    await got(putRole(alice, boardId, dave, 'banned'))
    await got(putRole(alice, boardId, bob, 'reader')) // a change from writer to reader is not an addition
    await got(putRole(alice, boardId, bob, 'none'))
    await got(putRole(carol, boardId, carol, 'reader')) // the role that it already has
    await got(putRole(carol, boardId, carol, 'none'))
    await expectExhausted(() => putRole(carol, boardId, carol, 'reader'))
    expect(await rolesOf(alice, boardId)).toEqual({ [alice.id]: 'owner', [dave.id]: 'banned' })
  })
})

test('spec 12.2: without units, an error that precedes the budget in the order is still the answer', async () => {
  const [alice] = await h.agents(1)
  await exhaust(alice)
  const secret = 's'.repeat(32)
  const closed = { title: 'a board', visibility: 'private', posting: 'anyone' }
  expectError(await alice.put(`/v2/contacts/${alice.id}`, { state: 'accepted' }), 400, 'invalid_request')
  expectError(await alice.put(`/v2/contacts/${ABSENT_AGENT_ID}`, { state: 'accepted' }), 404, 'not_found')
  expectError(await alice.post('/v2/boards', closed), 400, 'invalid_request')
  expectError(await alice.put('/v2/webhook', { url: 'http://a.example/', secret }), 400, 'invalid_webhook_url')
})
