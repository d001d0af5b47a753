/**
 * Sends generated requests for every operation of the OpenAPI description to the whole system. Every answer must come in
 * time and fit the description, no answer may be a 5xx without a reason, and a refused request must have changed nothing.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { call, type HttpAnswer } from '../support/client/agent.ts'
import { got, outcomeOf } from '../support/client/answers.ts'
import { untilAnswered } from '../support/client/retrying.ts'
import { ApiDescription, type OpenApi } from '../support/description/api-description.ts'
import { eventually } from '../support/eventually.ts'
import { startHarness } from '../support/system/harness.ts'
import { runsOf, TIMEOUT_MS } from './plan.ts'
import { type Plan, rightPlans, sendPlan, strangePlans, wrongPlans } from './requests.ts'
import { type Scene, startScene } from './scene.ts'

/** The number of requests that are sent at once, between two snapshots of the stores. */
const TOGETHER = 24

/** Codes that every run must reach. The other codes depend on times, limits and budgets. */
const REACHED = [
  'invalid_json',
  'invalid_request',
  'invalid_envelope',
  'invalid_reference',
  'invalid_cursor',
  'unauthenticated',
  'timestamp_out_of_range',
  'signature_invalid',
  'signer_revoked',
  'forbidden',
  'not_found',
  'recipient_unavailable',
  'unsupported_media_type',
  'confirmation_mismatch',
  'own_post',
]

let scene: Scene
let api: ApiDescription
beforeAll(async () => {
  scene = await startScene(
    await startHarness({
      env: {
        SVC_DAILY_FREE_UNITS: '1000000',
        SVC_DAILY_HARD_LIMIT: '1000000',
        SVC_DAILY_INTRODUCTIONS: '1000000',
      },
    }),
  )
  api = new ApiDescription((await call(scene.h.place, 'GET', '/openapi.json')).body as OpenApi)
})
afterAll(() => scene?.[Symbol.asyncDispose]())

/** Counts the outcomes, because a fuzz run with only one kind of answer proves little. */
const outcomes = new Map<string, number>()

interface Sent {
  readonly plan: Plan
  readonly answer: HttpAnswer
  /** After a 503, which a stall of 5 s causes, the request may still have taken effect (spec 3.17). */
  readonly isAgain: boolean
}

async function sendAll(plans: readonly Plan[]): Promise<Sent[]> {
  const { urls } = scene.h.system
  return Promise.all(
    plans.map(async (plan, at) => {
      let attempts = 0
      const answer = await untilAnswered(() => {
        attempts += 1
        return sendPlan(scene, plan, urls[at % urls.length] ?? '')
      })
      expect(answer.status, JSON.stringify(plan)).toBeLessThan(500)
      const outcome = outcomeOf(answer)
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
      return { plan, answer, isAgain: attempts > 1 }
    }),
  )
}

function mayHaveChanged({ plan, answer, isAgain }: Sent): boolean {
  return plan.method !== 'GET' && (answer.status < 300 || isAgain)
}

/** Whether a request was refused for its form. A schema cannot express two of the rules. */
function isAboutForm({ operation, target, signer, body }: Plan, answer: HttpAnswer): boolean {
  if (
    !['invalid_json', 'invalid_request', 'unsupported_media_type', 'unauthenticated'].includes(answer.body?.error?.code)
  )
    return false
  if (operation === 'setContact' && target.includes(scene[signer].id)) return false // an agent cannot be its own contact (spec 7.7)
  const { visibility, posting } = (body.kind === 'json' ? body.value : {}) as { visibility?: string; posting?: string }
  return !(visibility === 'private' && posting === 'anyone') // a private board is only for members (spec 8.1)
}

/** Charges of refused requests are released in the background. Afterwards the stores must be as before. */
async function expectUnchanged(before: string): Promise<void> {
  await eventually(async () => expect(await scene.digest()).toBe(before))
}

test('a snapshot of the stores shows every kind of change, and is stable if nothing changed', async () => {
  const { alice, bob, stranger, publicBoard, publicPost, dm, h } = scene
  const changes: Record<string, () => Promise<unknown>> = {
    registration: () => h.agents(1),
    settings: () => alice.patch('/v2/me', { discoverable: false }),
    contact: () => alice.put(`/v2/contacts/${bob.id}`, { state: 'accepted' }),
    message: () => alice.send(bob),
    post: () => alice.send(`board:${publicBoard}`),
    ack: () => bob.post(`/v2/messages/${dm}/ack`),
    board: () => stranger.post('/v2/boards', { title: 't', visibility: 'public' }),
    membership: () => stranger.put(`/v2/boards/${publicBoard}/members/${stranger.id}`, { role: 'reader' }),
    vote: () => bob.put(`/v2/messages/${publicPost}/vote`),
    'vote taken back': () => bob.call('DELETE', `/v2/messages/${publicPost}/vote`),
    hiding: () => alice.put(`/v2/boards/${publicBoard}/messages/${publicPost}/visibility`, { hidden: true }),
    restoring: () => alice.put(`/v2/boards/${publicBoard}/messages/${publicPost}/visibility`, { hidden: false }),
  }
  for (const [name, change] of Object.entries(changes)) {
    const before = await scene.digest()
    await got(alice.get('/v2/inbox'))
    expect({ name, same: (await scene.digest()) === before }).toEqual({ name, same: true })
    await change()
    expect({ name, same: (await scene.digest()) === before }).toEqual({ name, same: false })
  }
})

test('an invalid request is refused, and changes nothing', { timeout: TIMEOUT_MS }, async () => {
  const batches = fc.array(wrongPlans(api, scene), { minLength: TOGETHER, maxLength: TOGETHER })
  const before = await scene.digest()
  await fc.assert(
    fc.asyncProperty(batches, async (plans) => {
      const sent = await sendAll(plans)
      const accepted = sent.filter(({ answer }) => answer.status < 400)
      expect(accepted.map(({ plan, answer }) => [plan.verdict, plan.operation, answer.status])).toEqual([])
      await expectUnchanged(before)
    }),
    { ...runsOf('wrongRequests', TOGETHER), endOnFailure: true },
  )
})

test('every answer fits the description; a valid request is not refused for its form', {
  timeout: 120_000,
}, async () => {
  const plans = fc.oneof(
    { weight: 2, arbitrary: rightPlans(api, scene) },
    { weight: 1, arbitrary: strangePlans(api, scene) },
  )
  const batches = fc.array(plans, { minLength: TOGETHER, maxLength: TOGETHER })
  let before = await scene.digest()
  await fc.assert(
    fc.asyncProperty(batches, async (batch) => {
      const sent = await sendAll(batch)
      const forms = sent.filter(({ plan, answer }) => plan.verdict === 'right' && isAboutForm(plan, answer))
      expect(forms.map(({ plan, answer }) => [plan, answer.text])).toEqual([])
      if (sent.some(mayHaveChanged)) before = await scene.digest()
      else await expectUnchanged(before)
    }),
    { ...runsOf('anyRequests', TOGETHER), endOnFailure: true },
  )
})

test('a request that is refused because of stored data changes nothing either', {
  timeout: 120_000,
}, async () => {
  let before = await scene.digest()
  await fc.assert(
    fc.asyncProperty(rightPlans(api, scene), async (plan) => {
      const sent = await sendAll([plan])
      if (sent.some(mayHaveChanged)) before = await scene.digest()
      else await expectUnchanged(before)
    }),
    { ...runsOf('singleRequests'), endOnFailure: true },
  )
})

test('the requests reach every possible kind of answer', () => {
  console.log(
    `fuzzed: ${[...outcomes]
      .sort(([, a], [, b]) => b - a)
      .map(([outcome, count]) => `${outcome} ${count}`)
      .join(', ')}`,
  )
  expect([...outcomes.keys()]).toEqual(expect.arrayContaining(['200', '201', '202']))
  const codes = new Set([...outcomes.keys()].map((outcome) => outcome.split(' ')[1]))
  expect(REACHED.filter((code) => !codes.has(code))).toEqual([])
})
