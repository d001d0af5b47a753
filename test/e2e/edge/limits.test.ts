/** The limits of spec 11.7 that need many requests. clients/conformance has the others. */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Agent, HttpAnswer } from '../../support/client/agent.ts'
import { countOutcomes, got, outcomeOf, spendingOf } from '../../support/client/answers.ts'
import { untilAnswered } from '../../support/client/retrying.ts'
import { type SharedHarness, shareHarness } from '../../support/system/harness.ts'
import { type Operator, startOperator } from '../../support/system/operator.ts'

const KIB = 1024

let h: SharedHarness
let operator: Operator
/** Has an open inbox. */
let open: Agent

beforeAll(async () => {
  h = await shareHarness('usual')
  operator = await startOperator(h.system)
  ;[open] = await h.agents(1)
  await got(open.patch('/v2/me', { inbox_policy: 'open' }))
})
afterAll(async () => {
  await operator?.[Symbol.asyncDispose]()
  await h[Symbol.asyncDispose]()
})

describe('spec 11.7: boards per owner: 20', () => {
  test('the twentieth is created, and the next is not', async () => {
    const [owner] = await h.agents(1)
    await operator.grant(owner.id, 1_000, 'boards')
    const create = (): Promise<HttpAnswer> => owner.post('/v2/boards', { title: 'one of many', visibility: 'unlisted' })
    for (let made = 0; made < 20; made += 1) expect(outcomeOf(await create())).toBe('201')
    expect(outcomeOf(await create())).toBe('409 board_limit')
    expect(await spendingOf(owner)).toMatchObject({ units: 200 })
  })
})

describe('spec 11.1, 11.7: units and introductions per UTC day', () => {
  /** A sealed message of this many KiB, at most 16. It costs as many units. */
  async function spend(agent: Agent, units: number): Promise<void> {
    for (let left = units; left > 0; left -= 16) {
      const { body_enc: _enc, ...sealed } = await agent.sealed(open)
      const body_enc = randomBytes(Math.min(left, 16) * KIB).toString('base64')
      await got(agent.post('/v2/messages', { ...sealed, body_enc }))
    }
  }

  /** Retries until the refusal is final. The answer is 503 while earlier charges are not settled. */
  function sendOrBeRefused(from: Agent, to: Agent): Promise<HttpAnswer> {
    const envelope = from.envelope(to)
    return untilAnswered(() => from.post('/v2/messages', envelope))
  }

  test('free units per UTC day: 100: the hundredth is spent, and the next is refused', async () => {
    const [alice] = await h.agents(1)
    await spend(alice, 99)
    expect(outcomeOf(await alice.send(open))).toBe('202')
    expect(outcomeOf(await sendOrBeRefused(alice, open))).toBe('429 budget_exhausted')
    expect(await spendingOf(alice)).toMatchObject({ units: 100 })
  })

  test('hard ceiling of units per UTC day: 1000: credits reach it, and no further', async () => {
    const [alice] = await h.agents(1)
    await operator.grant(alice.id, 2_000, 'ceiling')
    await spend(alice, 999)
    expect(outcomeOf(await alice.send(open))).toBe('202')
    expect(outcomeOf(await sendOrBeRefused(alice, open))).toBe('429 hard_limit_reached')
    expect(await spendingOf(alice)).toMatchObject({ units: 1_000, credits: 1_100 })
  })

  test('introductions per UTC day: 10: the tenth stranger is reached, and the next is not', async () => {
    const [alice, ...strangers] = await h.agents(12)
    const answers = []
    for (const stranger of strangers) answers.push(await sendOrBeRefused(alice, stranger))
    expect(countOutcomes(answers)).toEqual({ 202: 10, '429 introduction_limit_reached': 1 })
    expect(answers.at(-1)?.status).toBe(429)
  })
})
