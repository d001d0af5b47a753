import {
  admitRequest,
  findAgentByName,
  getIdentity,
  registerAgent,
  revokeAgent,
  updateSettings,
} from '@svc/contracts/identity.ts'
import type { Settings } from '@svc/contracts/resources.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { endingOf } from '@svc/test/support/system/dying.ts'
import { describe, expect, test } from 'vitest'
import { type Harness, startHarness } from './harness.ts'
import { newKey, newNonce } from './store.ts'

const CALL_TIMEOUT_MS = 10_000
/** How long budget holds an unsettled reservation: long enough to commit, and short because tests wait for it to end. */
const HOLD_MS = 5_000
const RESOLVED_MS = 40_000
const LIMIT_MS = 120_000

/** Starts a process that dies at the failpoint, as the only one that serves, and an agent that was registered before. */
async function startDying(
  place: string,
): Promise<{ h: Harness; agentId: string; diesOf: (ask: () => Promise<string>) => Promise<string> }> {
  const h = await startHarness({ replicas: 0, callTimeoutMs: CALL_TIMEOUT_MS })
  h.budget.holdMs = HOLD_MS
  const first = await h.start()
  const { agentId } = await h.register('victim')
  await first[Symbol.asyncDispose]()
  const dying = await h.spawn({ SVC_FAILPOINTS: `${place}=kill` })
  const diesOf = async (ask: () => Promise<string>): Promise<string> => {
    const ending = await endingOf(dying, ask)
    h.budget.holdMs = undefined
    return ending
  }
  return { h, agentId, diesOf }
}

describe('ADR 21: a process killed between any two steps of a PATCH', () => {
  const PAID: Settings = { inbox_policy: 'open', discoverable: true }
  test.concurrent.each<[string, Settings, number]>([
    ['charging.identity.reserved', PAID, 1],
    ['charging.identity.committed', PAID, 1],
    ['charging.identity.settled', PAID, 1],
    ['identity.settings.committed', PAID, 1],
    ['identity.mailbox.pushed', PAID, 1],
    ['identity.settings.committed', { inbox_policy: 'closed' }, 0],
    ['identity.mailbox.pushed', { inbox_policy: 'closed' }, 0],
  ])(
    '%s, %j: change and charge happen both or not at all, messaging learns of it, and a repeat is not charged again',
    async (place, settings, units) => {
      const { h, agentId, diesOf } = await startDying(place)
      await using _ = h
      const patch = (): Promise<string> => h.codeOf(updateSettings, { agent_id: agentId, settings })
      expect(await diesOf(patch)).toBe('signal SIGKILL')

      await h.start()
      const after = await h.call(getIdentity, { agent_id: agentId })
      const changed = after.inbox_policy === settings.inbox_policy
      expect(after.discoverable).toBe(changed && settings.discoverable === true)
      const used = changed ? units : 0
      await eventually(() => h.budget.held === 0 && h.budget.usedBy(agentId) === used, {
        timeoutMs: RESOLVED_MS,
        what: `${used} units being charged for good`,
      })
      await eventually(() => (h.messaging.mailboxes.get(agentId)?.policy ?? 'requests') === after.inbox_policy, {
        what: 'messaging knowing the policy',
      })

      expect(await h.call(updateSettings, { agent_id: agentId, settings })).toMatchObject(settings)
      await eventually(() => h.budget.held === 0 && h.budget.usedBy(agentId) === units, { what: 'one charge at most' })
      expect(h.messaging.mailboxes.get(agentId)).toMatchObject({ policy: settings.inbox_policy, version: 1 })
    },
    LIMIT_MS,
  )
})

describe('spec 5.11: a process killed between any two steps of a revocation', () => {
  test.concurrent.each(['identity.revocation.committed', 'identity.mailbox.pushed', 'identity.webhook.closed'])(
    '%s: the agent stays revoked, and messaging and webhook learn of it without a repeated request',
    async (place) => {
      const { h, agentId, diesOf } = await startDying(place)
      await using _ = h
      expect(await diesOf(() => h.codeOf(revokeAgent, { agent_id: agentId }))).toBe('signal SIGKILL')

      await h.start()
      expect(await h.call(admitRequest, { agent_id: agentId, nonce: newNonce() })).toMatchObject({ revoked: true })
      await eventually(() => h.messaging.mailboxes.get(agentId)?.revoked === true, { what: 'messaging knowing it' })
      await eventually(() => h.webhook.closed.includes(agentId), { what: 'webhook knowing it' })
      expect(await h.codeOf(revokeAgent, { agent_id: agentId })).toBe('ok')
      expect(h.messaging.mailboxes.get(agentId)?.version).toBe(1)
    },
    LIMIT_MS,
  )
})

describe('spec 5.6: a process killed after a registration was committed', () => {
  test.concurrent(
    'identity.registration.committed: the repeat, with the consumed challenge, is answered like the first',
    async () => {
      const { h, diesOf } = await startDying('identity.registration.committed')
      await using _ = h
      const key = newKey()
      const registration = await h.prepare(key, 'survivor')
      let asked: Promise<string> | undefined
      const register = (): Promise<string> => {
        asked = h.codeOf(registerAgent, registration)
        return asked
      }
      expect(await diesOf(register)).toBe('signal SIGKILL')

      await h.start()
      expect((await h.call(findAgentByName, { name: 'survivor' })).agent?.agent_id).toBe(key.agentId)
      expect(await h.call(registerAgent, registration)).toMatchObject({ agent_id: key.agentId })
      expect(await asked).toBe('unavailable')
    },
    LIMIT_MS,
  )
})

describe('spec 3.7: a nonce is consumed durably', () => {
  test.concurrent(
    'an admitted nonce is replayed after kill -9 of the process that admitted it',
    async () => {
      const h = await startHarness({ replicas: 0 })
      await using _ = h
      const first = await h.spawn()
      const item = { agent_id: newKey().agentId, nonce: newNonce() }
      expect(await h.call(admitRequest, item)).toMatchObject({ replayed: false })
      await first.kill('SIGKILL')
      await h.start()
      expect(await h.call(admitRequest, item)).toMatchObject({ replayed: true })
    },
    LIMIT_MS,
  )
})

describe('SIGTERM', () => {
  test.concurrent(
    'ends the process with code 0, and another one continues',
    async () => {
      const h = await startHarness({ replicas: 1 })
      await using _ = h
      const child = await h.spawn()
      expect(await child.stop()).toMatchObject({ code: 0 })
      await h.register('goes-on')
    },
    LIMIT_MS,
  )
})
