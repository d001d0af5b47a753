/** PATCH /v2/me: its changes, their cost, and when they take effect. */
import type { InboxPolicy, Settings } from '@svc/contracts/resources.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Agent, HttpAnswer } from '../../support/client/agent.ts'
import { expectError } from '../../support/client/expect-answer.ts'
import { untilAnswered } from '../../support/client/retrying.ts'
import { eventually } from '../../support/eventually.ts'
import { type SharedHarness, shareHarness } from '../../support/system/harness.ts'
import { costOf, current, PATCHES, STATES, usedUnits } from './settings-costs.ts'

const DAILY_FREE_UNITS = 100
const BOARD_UNITS = 10
const SECONDS_PER_DAY = 86_400

let h: SharedHarness

beforeAll(async () => {
  h = await shareHarness('usual')
  return () => h[Symbol.asyncDispose]()
})

async function agents(count: number): Promise<[Agent, ...Agent[]]> {
  const [first, ...others] = await h.agents(count)
  if (first === undefined) throw new Error('at least one agent is needed')
  return [first, ...others]
}

/** Uses up the day's free units except the given number, first with boards and then with settings. */
async function exhaust(agent: Agent, left = 0): Promise<void> {
  const units = DAILY_FREE_UNITS - left
  for (let used = 0; used + BOARD_UNITS <= units; used += BOARD_UNITS)
    expect(await agent.post('/v2/boards', { title: 't', visibility: 'private' })).toMatchObject({ status: 201 })
  for (let discoverable = true; (await usedUnits(agent)) < units; discoverable = !discoverable)
    expect(await agent.patch('/v2/me', { discoverable })).toMatchObject({ status: 200 })
}

function expectExhausted(answer: HttpAnswer): void {
  expectError(answer, 429, 'budget_exhausted')
  // spec 4.2: the seconds to the next UTC midnight
  const left = SECONDS_PER_DAY - ((Date.now() / 1000) % SECONDS_PER_DAY)
  expect(Math.abs(Number(answer.headers.get('retry-after')) - left)).toBeLessThan(60)
}

/** Repeats a PATCH while the answer is 503: many concurrent changes, or a charge that is not settled yet, can delay the decision. */
function patch(agent: Agent, settings: Settings, url: string = agent.place.url): Promise<HttpAnswer> {
  return untilAnswered(() => agent.patch('/v2/me', settings, { url }))
}

describe('spec 5.10: the cost of a PATCH', () => {
  test('spec 5.10: the table below has every combination', () => {
    expect([STATES.length, PATCHES.length]).toEqual([8, 15])
    const costs = STATES.flatMap((before) => PATCHES.map((patch) => costOf(before, patch)))
    // Discoverable: absent or unchanged. Policy: absent, unchanged or, in the six states that are not closed, closed.
    expect(costs.filter((cost) => cost === 0)).toHaveLength(8 * 2 * 2 + 6 * 2)
  })

  test.concurrent.each(STATES)('spec 5.10: from $inbox_policy, discoverable $discoverable', async (before) => {
    // Half of the combinations go to each gateway, so that a day's units are enough.
    const callers = await agents(2)
    for (const [at, patch] of PATCHES.entries()) {
      const agent = callers[at % callers.length] ?? callers[0]
      expect(await agent.patch('/v2/me', before)).toMatchObject({ status: 200 })
      const used = await usedUnits(agent)
      const answer = await agent.patch('/v2/me', patch)
      expect(answer.status, answer.text).toBe(200)
      const after = { ...before, ...patch }
      expect(answer.body).toEqual({ ...(await agent.get('/v2/me')).body, ...after })
      expect({ patch, cost: (await usedUnits(agent)) - used }).toEqual({ patch, cost: costOf(before, patch) })
    }
  })

  test('spec 3.19, 5.10: of many identical concurrent changes the first costs 1 unit, and the others change nothing', async () => {
    const [agent] = await agents(1)
    const changes: Settings[] = [
      { discoverable: true },
      { inbox_policy: 'open' },
      { inbox_policy: 'contacts', discoverable: false },
    ]
    for (const change of changes) {
      const used = await usedUnits(agent)
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, at) => patch(agent, change, h.system.urls[at % 2])),
      )
      for (const answer of answers) expect(answer).toMatchObject({ status: 200, body: change })
      await eventually(async () => expect((await usedUnits(agent)) - used).toBe(1))
    }
  })

  test('spec 5.10: many different concurrent changes cost 1 unit each, and the final state is that of one of them', async () => {
    const [agent] = await agents(1)
    const policies: InboxPolicy[] = ['open', 'contacts', 'requests']
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, at) =>
        patch(agent, { inbox_policy: policies[at % 3] ?? 'open' }, h.system.urls[at % 2]),
      ),
    )
    for (const answer of answers) expect(answer).toMatchObject({ status: 200 })
    expect(policies).toContain((await current(agent)).inbox_policy)
    await eventually(async () => {
      const used = await usedUnits(agent)
      expect(used).toBeGreaterThanOrEqual(1)
      expect(used).toBeLessThanOrEqual(12)
    })
  })

  test('spec 2.7, 11.3: a malformed PATCH costs nothing and changes nothing', async () => {
    const [agent] = await agents(1)
    const before = await current(agent)
    for (const patch of [{ inbox_policy: 'friends' }, { discoverable: 'yes' }, { inbox_policy: 'open', x: 1 }]) {
      expectError(await agent.patch('/v2/me', patch), 400, 'invalid_request')
    }
    expect(await current(agent)).toEqual(before)
    expect(await usedUnits(agent)).toBe(0)
  })
})

describe('spec 11.2: with an exhausted budget', () => {
  test('spec 11.3: a change that costs is 429 budget_exhausted and changes nothing; a free change takes effect', async () => {
    const [agent] = await agents(1)
    await exhaust(agent)
    expect(await usedUnits(agent)).toBe(DAILY_FREE_UNITS)

    // From here on, only closing can change anything.
    for (const policy of ['requests', 'closed'] as const) {
      if (policy === 'closed')
        expect(await agent.patch('/v2/me', { inbox_policy: 'closed' })).toMatchObject({ status: 200 })
      const before = await current(agent)
      expect(before.inbox_policy).toBe(policy)
      for (const change of PATCHES) {
        const after = { ...before, ...change }
        if (after.inbox_policy === 'closed' && policy !== 'closed' && after.discoverable === before.discoverable)
          continue
        const answer = await patch(agent, change)
        if (costOf(before, change) > 0) expectExhausted(answer)
        else expect(answer).toMatchObject({ status: 200, body: after })
        expect(await current(agent)).toEqual(before)
      }
    }
    expect(await usedUnits(agent)).toBe(DAILY_FREE_UNITS)
  })

  test('spec 11.3: as many concurrent changes take effect as there are units', async () => {
    const [agent] = await agents(1)
    await exhaust(agent, 3)
    const before = await current(agent)
    const patches = Array.from({ length: 10 }, (_, at) => ({
      discoverable: at % 2 === 0 ? !before.discoverable : before.discoverable,
    }))
    const answers = await Promise.all(patches.map((change, at) => patch(agent, change, h.system.urls[at % 2])))
    for (const answer of answers) if (answer.status !== 200) expectExhausted(answer)
    await eventually(async () => expect(await usedUnits(agent)).toBeLessThanOrEqual(DAILY_FREE_UNITS))
  })
})

describe('spec 7.6: an inbox policy applies as soon as the change is answered', () => {
  test('spec 7.6: at every gateway and every process of messaging', async () => {
    const [owner, friend, stranger] = await agents(3)
    if (friend === undefined || stranger === undefined) throw new Error('three agents are needed')
    expect(await owner.put(`/v2/contacts/${friend.id}`, { state: 'accepted' })).toMatchObject({ status: 200 })
    // The answers to friend and stranger under each policy. The stranger's single request stays pending.
    expect(await owner.patch('/v2/me', { inbox_policy: 'open' })).toMatchObject({ status: 200 })
    expect(await stranger.send(owner)).toMatchObject({ status: 202, body: { lane: 'inbox' } })
    const rules: Record<Exclude<InboxPolicy, 'requests'>, { friend: string; stranger: string }> = {
      open: { friend: 'inbox', stranger: 'inbox' },
      contacts: { friend: 'inbox', stranger: 'admission_denied' },
      closed: { friend: 'admission_denied', stranger: 'admission_denied' },
    }
    for (const policy of ['closed', 'open', 'contacts', 'open', 'closed', 'contacts', 'closed', 'open'] as const) {
      expect(await owner.patch('/v2/me', { inbox_policy: policy })).toMatchObject({ status: 200 })
      const [byFriend, byStranger] = await Promise.all([friend.send(owner), stranger.send(owner)])
      const said = (answer: HttpAnswer): string => answer.body.lane ?? answer.body.error?.code
      expect({ policy, friend: said(byFriend), stranger: said(byStranger) }).toEqual({ policy, ...rules[policy] })
    }
    expect(await owner.patch('/v2/me', { inbox_policy: 'requests' })).toMatchObject({ status: 200 })
    expect(await stranger.send(owner)).toMatchObject({ status: 202, body: { lane: 'requests' } })
    expectError(await stranger.send(owner), 409, 'request_pending')
  })
})
