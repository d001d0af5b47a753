import { findAgent, getIdentity, revokeAgent, updateSettings } from '@svc/contracts/identity.ts'
import type { InboxPolicy, Settings } from '@svc/contracts/resources.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type Harness, startHarness } from './harness.ts'
import { newKey } from './store.ts'

let h: Harness
beforeAll(async () => {
  h = await startHarness()
})
afterAll(() => h[Symbol.asyncDispose]())
afterEach(async () => {
  h.budget.refusal = undefined
  h.budget.beforeAnswer = () => {}
  h.messaging.beforeAnswer = () => {}
  await Promise.all([h.budget.up(), h.messaging.up()])
})

let agents = 0
async function newAgent(): Promise<string> {
  agents += 1
  return (await h.register(`agent-${agents}`)).agentId
}

async function settingsOf(agentId: string): Promise<Settings> {
  const { inbox_policy, discoverable } = await h.call(getIdentity, { agent_id: agentId })
  return { inbox_policy, discoverable }
}

async function versionsOf(agentId: string): Promise<{ mailbox_version: number; mailbox_pushed: number } | undefined> {
  const [row] = await h.database.run(
    (sql) => sql<{ mailbox_version: number; mailbox_pushed: number }[]>`
      select mailbox_version, mailbox_pushed from identity.agents where agent_id = ${agentId}`,
  )
  return row
}

const patch = (agentId: string, settings: Settings): Promise<string> =>
  h.codeOf(updateSettings, { agent_id: agentId, settings })

describe('spec 5.10, 11.2: the cost of a PATCH', () => {
  test.each(['budget_exhausted', 'hard_limit_reached'] as const)('%s changes nothing', async (code) => {
    const agentId = await newAgent()
    const before = await versionsOf(agentId)
    h.budget.refusal = code
    expect(await patch(agentId, { inbox_policy: 'open', discoverable: true })).toBe(code)
    expect(await settingsOf(agentId)).toEqual({ inbox_policy: 'requests', discoverable: false })
    expect(await versionsOf(agentId)).toEqual(before)
  })

  test('spec 11.2: closing, and changing nothing, work while budget is down; paid changes do not', async () => {
    const agentId = await newAgent()
    await h.budget.down()
    expect(await patch(agentId, { inbox_policy: 'closed' })).toBe('ok')
    expect(await patch(agentId, { inbox_policy: 'closed', discoverable: false })).toBe('ok')
    expect(await patch(agentId, {})).toBe('ok')
    expect(await patch(agentId, { inbox_policy: 'open' })).toBe('unavailable')
    expect(await settingsOf(agentId)).toEqual({ inbox_policy: 'closed', discoverable: false })
  })

  test('20 identical concurrent PATCHes: one unit, the others change nothing', async () => {
    const agentId = await newAgent()
    const codes = await Promise.all(Array.from({ length: 20 }, () => patch(agentId, { discoverable: true })))
    expect(new Set(codes)).toEqual(new Set(['ok']))
    expect(await settingsOf(agentId)).toMatchObject({ discoverable: true })
    expect(h.budget.usedBy(agentId)).toBe(1)
    await eventually(() => h.budget.held === 0, { what: 'the charge being settled' })
  })

  test('a change that only closes the inbox when it is written is free, even if it was priced before at 1 unit', async () => {
    const agentId = await newAgent()
    await h.call(updateSettings, { agent_id: agentId, settings: { inbox_policy: 'open', discoverable: true } })
    await eventually(() => h.budget.held === 0, { what: 'the charge being settled' })
    const before = h.budget.usedBy(agentId)
    // Changes the row after the price of 1 was found, and before the change is written.
    h.budget.beforeAnswer = async () => {
      h.budget.beforeAnswer = () => {}
      await h.database.run((sql) => sql`update identity.agents set discoverable = false where agent_id = ${agentId}`)
    }
    const settings: Settings = { inbox_policy: 'closed', discoverable: false }
    expect(await h.call(updateSettings, { agent_id: agentId, settings })).toMatchObject(settings)
    expect(h.budget.usedBy(agentId) - before).toBe(0)
    expect(h.budget.held).toBe(0)
  })

  test('a change that was free when it was priced costs 1 unit if it does more than close the inbox when it is written', async () => {
    const agentId = await newAgent()
    await h.call(updateSettings, { agent_id: agentId, settings: { discoverable: true } })
    const before = h.budget.usedBy(agentId)
    const settings: Settings = { inbox_policy: 'closed', discoverable: true }
    const answer = await h.database.transaction(async (tx) => {
      await tx`update identity.agents set discoverable = false where agent_id = ${agentId}`
      const patched = h.call(updateSettings, { agent_id: agentId, settings })
      // The request has seen a row that makes closing free, and now waits for this transaction.
      await eventually(async () => {
        const waiting = await h.database.run(
          (sql) => sql`
            select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        )
        return waiting.length > 0
      })
      return { patched }
    })
    expect(await answer.patched).toMatchObject(settings)
    expect(h.budget.usedBy(agentId) - before).toBe(1)
  })
})

describe('spec 7.6: messaging has the policy before the client is answered', () => {
  test.each<InboxPolicy>(['open', 'contacts', 'closed'])('%s', async (policy) => {
    const agentId = await newAgent()
    await h.call(updateSettings, { agent_id: agentId, settings: { inbox_policy: policy } })
    expect(h.messaging.mailboxes.get(agentId)).toEqual({ policy, revoked: false, version: 1 })
    expect(await versionsOf(agentId)).toEqual({ mailbox_version: 1, mailbox_pushed: 1 })
  })

  test('messaging gets no push about being listed, so an agent can be listed while messaging is down', async () => {
    const agentId = await newAgent()
    await h.messaging.down()
    expect(await patch(agentId, { discoverable: true })).toBe('ok')
    expect(await versionsOf(agentId)).toEqual({ mailbox_version: 0, mailbox_pushed: 0 })
  })

  test('while messaging is down the answer is unavailable but the change takes effect; a repeat is free and completes it', async () => {
    const agentId = await newAgent()
    await h.messaging.down()
    expect(await patch(agentId, { inbox_policy: 'open' })).toBe('unavailable')
    expect(await patch(agentId, { inbox_policy: 'open' })).toBe('unavailable')
    expect(await settingsOf(agentId)).toMatchObject({ inbox_policy: 'open' })
    await h.messaging.up()
    expect(await patch(agentId, { inbox_policy: 'open' })).toBe('ok')
    expect(h.messaging.mailboxes.get(agentId)).toEqual({ policy: 'open', revoked: false, version: 1 })
    expect(h.budget.usedBy(agentId)).toBe(1)
  })

  test('a loop makes the pushes that are missing, without any request', async () => {
    const agentId = await newAgent()
    await h.messaging.down()
    expect(await patch(agentId, { inbox_policy: 'closed' })).toBe('unavailable')
    await h.messaging.up()
    await eventually(() => h.messaging.mailboxes.get(agentId)?.policy === 'closed', { what: 'the push of the loop' })
    await eventually(async () => (await versionsOf(agentId))?.mailbox_pushed === 1, { what: 'the record of the push' })
  })

  test('a mailbox that messaging refuses delays no other mailbox', async () => {
    const [stuck, ...others] = await Promise.all(Array.from({ length: 5 }, newAgent))
    h.messaging.beforeAnswer = () => {
      throw new Error('broken')
    }
    await Promise.all([stuck, ...others].map((id) => patch(id ?? '', { inbox_policy: 'closed' })))
    h.messaging.beforeAnswer = (agentId) => {
      if (agentId === stuck) throw new Error('broken')
    }
    for (const id of others) await eventually(() => h.messaging.mailboxes.has(id), { what: 'the push of the others' })
    expect(h.messaging.mailboxes.has(stuck ?? '')).toBe(false)
  })

  test('after concurrent PATCHes identity and messaging have the last committed policy, whatever the order of the pushes', async () => {
    const agentId = await newAgent()
    h.messaging.beforeAnswer = () => new Promise((resolve) => setTimeout(resolve, Math.random() * 20))
    const policies: InboxPolicy[] = ['open', 'contacts', 'closed', 'requests']
    const codes = await Promise.all(
      Array.from({ length: 24 }, (_, index) => patch(agentId, { inbox_policy: policies[index % 4] ?? 'open' })),
    )
    expect(codes.filter((code) => code !== 'ok' && code !== 'unavailable')).toEqual([])
    expect(codes).toContain('ok')
    // A change may still take effect although the answer was `unavailable`.
    await eventually(async () => {
      const versions = await versionsOf(agentId)
      const { inbox_policy: policy } = await settingsOf(agentId)
      expect(h.messaging.mailboxes.get(agentId)).toEqual({ policy, revoked: false, version: versions?.mailbox_version })
      expect(versions?.mailbox_pushed).toBe(versions?.mailbox_version)
    })
    await eventually(() => h.budget.held === 0, { what: 'every charge being settled or given back' })
    expect(h.budget.usedBy(agentId)).toBeLessThanOrEqual((await versionsOf(agentId))?.mailbox_version ?? 0)
  })
})

describe('the agent', () => {
  test('an unknown id: not_found, and nothing is charged', async () => {
    const { agentId } = newKey()
    expect(await patch(agentId, { inbox_policy: 'open' })).toBe('not_found')
    expect(h.budget.usedBy(agentId)).toBe(0)
  })

  test('spec 5.11: revoked after its request was admitted: signer_revoked, and nothing is changed or charged', async () => {
    const agentId = await newAgent()
    h.budget.beforeAnswer = async () => {
      h.budget.beforeAnswer = () => {}
      await h.call(revokeAgent, { agent_id: agentId })
    }
    expect(await patch(agentId, { inbox_policy: 'open' })).toBe('signer_revoked')
    expect(await patch(agentId, { inbox_policy: 'closed' })).toBe('signer_revoked')
    expect(await settingsOf(agentId)).toMatchObject({ inbox_policy: 'requests' })
    expect(h.budget.usedBy(agentId)).toBe(0)
    expect((await h.call(findAgent, { agent_id: agentId })).agent?.revoked).toBe(true)
  })
})
