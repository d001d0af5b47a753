/**
 * PATCH /v2/me while identity is killed at every step. The unit, the settings and messaging's copy of them change together.
 * A retry after a failure converges. Source: ADR 21; spec 5.10, 11.2, 12.3.
 */
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Agent, HttpAnswer } from '../support/client/agent.ts'
import { got, outcomeOf, spendingOf } from '../support/client/answers.ts'
import { untilAnswered } from '../support/client/retrying.ts'
import { eventually } from '../support/eventually.ts'
import { findWrongBooks, untilResolved } from '../support/system/books.ts'
import { withDeathAt } from '../support/system/dying.ts'
import { type Harness, startHarness } from '../support/system/harness.ts'
import { ONE_OF_EACH } from '../support/system/system.ts'

let h: Harness
let admin: postgres.Sql
/** Checked at the end, when the resolver has had time for all of them. */
const outcomes: { done: Promise<unknown>; check: () => Promise<void> }[] = []

beforeAll(async () => {
  h = await startHarness({ replicas: { ...ONE_OF_EACH, gateway: 2 } })
  admin = postgres(h.system.database.adminUrl, { max: 1, onnotice: () => {} })
})
afterAll(async () => {
  await admin?.end()
  await h[Symbol.asyncDispose]()
})

const CLIENTS = ['repeats', 'gives up'] as const
type Client = (typeof CLIENTS)[number]

function patchAs(client: Client, agent: Agent, settings: object): Promise<HttpAnswer> {
  const patch = (): Promise<HttpAnswer> => agent.patch('/v2/me', settings)
  return client === 'repeats' ? untilAnswered(patch) : patch()
}

/** The answer to a message of a stranger. It shows which policy messaging knows. */
async function admissionOf(agent: Agent): Promise<string> {
  const [stranger] = await h.agents(1)
  const answer = await stranger.send(agent)
  return answer.status === 202 ? answer.body.lane : outcomeOf(answer)
}

// This runs first, while the resolver is idle, because the resolver reaches the same failpoints.
describe('spec 11.3: of two identical concurrent changes, the one that finds nothing to change gives its unit back', () => {
  test.each(CLIENTS)('identity dies after it has fenced a change, the client %s', async (client) => {
    await withDeathAt(h.system, 'charging.identity.fenced', 'identity-1', async () => {
      const [alice] = await h.agents(1)
      const done = Promise.all(Array.from({ length: 6 }, () => patchAs(client, alice, { discoverable: true })))
      outcomes.push({
        done,
        async check() {
          const answers = await done
          const { discoverable } = (await got(alice.get('/v2/me'))).body
          if (answers.some(({ status }) => status === 200)) expect(discoverable).toBe(true)
          expect(await spendingOf(alice)).toMatchObject({ units: discoverable ? 1 : 0 })
        },
      })
      return done
    })
  })
})

describe('spec 5.10, 12.3: a change that costs', () => {
  // The other steps are in services/identity/test/faults.test.ts and libs/charging/test/faults.test.ts.
  const failpoints = ['charging.identity.reserved', 'charging.identity.committed', 'identity.mailbox.pushed']
  const rows = failpoints.flatMap((failpoint) => CLIENTS.map((client) => ({ failpoint, client })))
  const settings = { inbox_policy: 'open', discoverable: true }

  test.each(rows)('identity dies at $failpoint, the client $client', async ({ failpoint, client }) => {
    const [alice] = await h.agents(1)
    await withDeathAt(h.system, failpoint, 'identity-1', () => {
      const done = patchAs(client, alice, settings)
      outcomes.push({
        done,
        async check() {
          const answer = await done
          if (client === 'repeats') expect(outcomeOf(answer)).toBe('200')
          const me = (await got(alice.get('/v2/me'))).body
          const changed = me.inbox_policy === 'open'
          expect(me.discoverable).toBe(changed) // both fields changed, or neither
          if (answer.status !== 503) expect(changed).toBe(true)
          expect(await spendingOf(alice)).toMatchObject({ units: changed ? 1 : 0 })
          expect(await admissionOf(alice)).toBe(changed ? 'inbox' : 'requests')
        },
      })
      return done
    })
  })
})

describe('spec 11.2: closing, which is free', () => {
  // Waits for all clients above. Otherwise one of them could retry its call, and kill the armed process too early.
  beforeAll(() => Promise.all(outcomes.map(({ done }) => done)), 180_000)

  /** Waits until every change is pushed. A starting process first pushes pending changes, and would die during that push. */
  const untilPushed = (): Promise<unknown> =>
    eventually(async () => {
      const left = await admin`select from identity.agents where mailbox_pushed < mailbox_version`
      return left.length === 0
    })

  test.each(['identity.settings.committed', 'identity.mailbox.pushed'])('identity dies at %s', async (failpoint) => {
    const [alice] = await h.agents(1)
    await untilPushed()
    await withDeathAt(h.system, failpoint, 'identity-1', () => patchAs('gives up', alice, { inbox_policy: 'closed' }))
    // The change is committed. No client retries, but messaging still learns of it.
    await eventually(async () => expect(await admissionOf(alice)).toBe('403 admission_denied'))
    expect((await got(alice.get('/v2/me'))).body.inbox_policy).toBe('closed')
    expect((await spendingOf(alice)).units).toBe(0)
  })

  test('while messaging is down: 503, and messaging learns of the change when it is back', async () => {
    const [alice, bob] = await h.agents(2)
    await h.system.kill('messaging-1')
    expect(outcomeOf(await alice.patch('/v2/me', { inbox_policy: 'closed' }))).toBe('503 unavailable')
    expect(outcomeOf(await bob.post('/v2/me/revoke', { confirm_agent_id: bob.id }))).toBe('503 unavailable')
    await h.system.start('messaging-1')
    // The 503 does not say whether the change took effect (spec 3.17). Messaging must get the policy that identity holds.
    const { inbox_policy } = (await got(alice.get('/v2/me'))).body
    const expected = inbox_policy === 'closed' ? '403 admission_denied' : 'requests'
    await eventually(async () => expect(await admissionOf(alice)).toBe(expected))
    const revoked = outcomeOf(await bob.get('/v2/me')) === '401 signer_revoked'
    await eventually(async () =>
      expect(await admissionOf(bob)).toBe(revoked ? '404 recipient_unavailable' : 'requests'),
    )
  })
})

describe('in the end', () => {
  test('every client was answered, and no reservation is left', { timeout: 180_000 }, async () => {
    await Promise.all(outcomes.map(({ done }) => done))
    await untilResolved(admin)
  })

  test('each agent has paid for the changes that took effect, and for nothing else', async () => {
    expect(outcomes.length).toBeGreaterThanOrEqual(8)
    for (const { check } of outcomes) await check()
  })

  test('the records of both sides agree, operation by operation and account by account', async () => {
    await untilResolved(admin) // for the messages that the checks above have sent
    expect(await findWrongBooks(admin)).toEqual([])
  })
})
