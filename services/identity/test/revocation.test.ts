import { admitRequest, revokeAgent, updateSettings } from '@svc/contracts/identity.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type Harness, startHarness } from './harness.ts'
import { newKey, newNonce } from './store.ts'

let h: Harness
beforeAll(async () => {
  h = await startHarness()
})
afterAll(() => h[Symbol.asyncDispose]())
afterEach(async () => {
  await Promise.all([h.budget.up(), h.messaging.up(), h.webhook.up()])
})

describe('spec 5.11: revocation', () => {
  test('the next request is refused, by any process, and its nonce is consumed', async () => {
    const { agentId } = await h.register('next-request')
    expect(await h.call(admitRequest, { agent_id: agentId, nonce: newNonce() })).toMatchObject({ revoked: false })
    expect(await h.call(revokeAgent, { agent_id: agentId })).toEqual({ status: 'revoked' })
    for (let request = 0; request < 20; request += 1) {
      const nonce = newNonce()
      const admitted = await h.call(admitRequest, { agent_id: agentId, nonce })
      expect(admitted).toEqual({ replayed: false, revoked: true })
      expect(await h.call(admitRequest, { agent_id: agentId, nonce })).toEqual({ replayed: true, revoked: true })
    }
  })

  test('messaging accepts nothing more for the agent before the client is answered', async () => {
    const { agentId } = await h.register('mailbox')
    await h.call(updateSettings, { agent_id: agentId, settings: { inbox_policy: 'open' } })
    await h.call(revokeAgent, { agent_id: agentId })
    expect(h.messaging.mailboxes.get(agentId)).toEqual({ policy: 'open', revoked: true, version: 2 })
  })

  test('its webhook is deleted before the client is answered', async () => {
    const { agentId } = await h.register('webhook')
    const beganMs = performance.now()
    await h.call(revokeAgent, { agent_id: agentId })
    // The request waits only so long for the webhook (handlers/revoke-agent.ts); after that the loop closes it.
    if (performance.now() - beganMs > 1_900) await eventually(() => h.webhook.closed.includes(agentId))
    expect(h.webhook.closed).toContain(agentId)
  })

  test('revoking is answered even while the webhook service is down, and the webhook is deleted later', async () => {
    const { agentId } = await h.register('webhook-away')
    await h.webhook.down()
    expect(await h.codeOf(revokeAgent, { agent_id: agentId })).toBe('ok')
    expect(h.webhook.closed).not.toContain(agentId)
    await h.webhook.up()
    await eventually(() => h.webhook.closed.includes(agentId))
  })

  test('a repeat, also 20 concurrent ones, gets the same answer and changes nothing', async () => {
    const { agentId } = await h.register('repeated')
    const answers = await Promise.all(Array.from({ length: 20 }, () => h.codeOf(revokeAgent, { agent_id: agentId })))
    expect(new Set(answers)).toEqual(new Set(['ok']))
    expect(h.messaging.mailboxes.get(agentId)).toMatchObject({ revoked: true, version: 1 })
  })

  test('spec 11.2: it is free and works while budget is down', async () => {
    const { agentId } = await h.register('free')
    await h.budget.down()
    expect(await h.codeOf(revokeAgent, { agent_id: agentId })).toBe('ok')
    await h.budget.up()
    expect(h.budget.usedBy(agentId)).toBe(0)
  })

  test('revoking takes effect even while messaging is down, and a loop tells messaging later', async () => {
    const { agentId } = await h.register('messaging-down')
    await h.messaging.down()
    expect(await h.codeOf(revokeAgent, { agent_id: agentId })).toBe('unavailable')
    expect(await h.call(admitRequest, { agent_id: agentId, nonce: newNonce() })).toMatchObject({ revoked: true })
    await h.messaging.up()
    await eventually(() => h.messaging.mailboxes.get(agentId)?.revoked === true, { what: 'the push of the loop' })
    expect(await h.codeOf(revokeAgent, { agent_id: agentId })).toBe('ok')
  })

  test('an unknown id: not_found', async () => {
    expect(await h.codeOf(revokeAgent, { agent_id: newKey().agentId })).toBe('not_found')
  })

  test('it is final: the service’s own role may not rename, replace or remove an identity either', async () => {
    const { agentId } = await h.register('for-ever')
    const denied = 'permission denied'
    const { database } = h
    await expect(database.run((sql) => sql`delete from identity.agents where agent_id = ${agentId}`)).rejects.toThrow(
      denied,
    )
    await expect(database.run((sql) => sql`truncate identity.agents`)).rejects.toThrow(denied)
    await expect(database.run((sql) => sql`update identity.agents set name = 'other'`)).rejects.toThrow(denied)
    await expect(database.run((sql) => sql`update identity.agents set public_key = ''`)).rejects.toThrow(denied)
  })
})
