import { askedBy, resumeAgent, suspendAgent } from '@svc/contracts/admin.ts'
import type { RequestOf } from '@svc/contracts/define.ts'
import { admitRequest, findAgentByName, listAgents, revokeAgent, updateSettings } from '@svc/contracts/identity.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { endingOf } from '@svc/test/support/system/dying.ts'
import { connectCalls, type ServiceCalls } from '@svc/test/support/system/service-harness.ts'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { admitBatch } from '../src/store/nonces.ts'
import { type Harness, startHarness } from './harness.ts'
import { newKey, newNonce } from './store.ts'

const WHY = { dry_run: false, reason: 'spam' }
const HOUR_SECONDS = 3_600

/** The calls of an operator. */
interface Operator {
  suspend(agent: string, until?: number | null, changes?: Partial<RequestOf<typeof suspendAgent>>): Promise<unknown>
  resume(agent: string, changes?: Partial<RequestOf<typeof resumeAgent>>): Promise<unknown>
  codeOf: ServiceCalls['codeOf']
}

async function startOperator(stack: AsyncDisposableStack, { adminUrl }: Harness): Promise<Operator> {
  const { call, codeOf } = await connectCalls(stack, adminUrl, 20_000, { asOperator: true })
  return {
    suspend: (agent, until = null, changes = {}) =>
      call(askedBy('admin', suspendAgent), { agent, until, ...WHY, ...changes }),
    resume: (agent, changes = {}) => call(askedBy('admin', resumeAgent), { agent, ...WHY, ...changes }),
    codeOf,
  }
}

const stack = new AsyncDisposableStack()
let h: Harness
let operator: Operator
beforeAll(async () => {
  h = stack.use(await startHarness())
  operator = await startOperator(stack, h)
})
afterAll(() => stack.disposeAsync())
afterEach(async () => {
  await Promise.all([h.messaging.up(), h.webhook.up()])
})

function inAnHour(): number {
  return Math.floor(Date.now() / 1_000) + HOUR_SECONDS
}

function admitted(agent_id: string) {
  return h.call(admitRequest, { agent_id, nonce: newNonce() })
}

async function auditOf(agentId: string, { database } = h) {
  return database.run(
    (sql) => sql`
      select a.operator, a.action, a.reference, a.reason, a.result from identity.audit a where a.target = ${agentId} order by a.id`,
  )
}

describe('spec 12.4: suspension', () => {
  test('the next request of the agent is refused by any process, until the end that was set, and it is admitted again when resumed', async () => {
    const { agentId } = await h.register('next')
    const until = inAnHour()
    expect(await operator.suspend(agentId, until, { reference: 'ticket-17' })).toEqual({
      ...{ agent_id: agentId, name: 'next', changed: true, until, waiting_for: [] },
    })
    for (let request = 0; request < 10; request += 1)
      expect(await admitted(agentId)).toEqual({ replayed: false, revoked: false, suspended: { until } })
    const told = { agent_id: agentId, suspension: { until }, version: 1 }
    expect([h.messaging.suspensions.get(agentId), h.webhook.suspensions.get(agentId)]).toEqual([told, told])

    expect(await operator.resume('next')).toMatchObject({ agent_id: agentId, changed: true, waiting_for: [] })
    expect(await admitted(agentId)).toEqual({ replayed: false, revoked: false })
    const ended = { agent_id: agentId, suspension: null, version: 2 }
    expect([h.messaging.suspensions.get(agentId), h.webhook.suspensions.get(agentId)]).toEqual([ended, ended])
    const end = `${new Date(until * 1_000).toISOString().slice(0, 19)}Z`
    expect(await auditOf(agentId)).toEqual([
      { operator: 'admin', action: 'suspend', reference: 'ticket-17', reason: 'spam', result: { until: end } },
      { operator: 'admin', action: 'resume', reference: null, reason: 'spam', result: {} },
    ])
  })

  test('an end passes by itself; others in the batch are not touched', async () => {
    const [{ agentId: first }, { agentId: second }] = [await h.register('passes'), await h.register('bystander')]
    await operator.suspend(first)
    const batch = () =>
      admitBatch(h.database, [
        { agentId: first, nonce: newNonce() },
        { agentId: second, nonce: newNonce() },
        { agentId: first, nonce: newNonce() },
      ])
    const [not, suspended] = [{ replayed: false, revoked: false }, { suspended: { until: null } }]
    expect(await batch()).toEqual([{ ...not, ...suspended }, not, { ...not, ...suspended }])
    await h.database.run(
      (sql) => sql`update identity.agents set suspended_until = now() - interval '1 ms' where agent_id = ${first}`,
    )
    expect(await batch()).toEqual([not, not, not])
    expect(await operator.resume(first)).toMatchObject({ changed: false })
    expect(await operator.suspend(first)).toMatchObject({ changed: true })
  })

  test('a repeat changes nothing and adds no row, also 20 concurrent ones; another end is a change', async () => {
    const { agentId } = await h.register('repeated')
    const [until, later] = [inAnHour(), inAnHour() + 60]
    const all = await Promise.all(Array.from({ length: 20 }, () => operator.suspend(agentId, until)))
    expect(all.filter((one) => (one as { changed: boolean }).changed)).toHaveLength(1)
    expect(await operator.suspend(agentId, later)).toMatchObject({ changed: true, until: later })
    expect(await operator.suspend(agentId, null)).toMatchObject({ changed: true, until: null })
    for (let times = 0; times < 2; times += 1)
      expect(await operator.resume(agentId)).toMatchObject({ changed: times === 0 })
    expect((await auditOf(agentId)).map(({ action }) => action)).toEqual(['suspend', 'suspend', 'suspend', 'resume'])
  })

  test('a dry run says what would change, and changes nothing', async () => {
    const { agentId } = await h.register('dry')
    const dry = { dry_run: true }
    expect(await operator.suspend(agentId, null, dry)).toMatchObject({ changed: true, waiting_for: [] })
    expect(await operator.resume(agentId, dry)).toMatchObject({ changed: false })
    expect(await admitted(agentId)).not.toHaveProperty('suspended')
    expect(await auditOf(agentId)).toEqual([])
  })

  test('what cannot be: an unknown agent, an end in the past, a revoked agent, no reason', async () => {
    const { agentId } = await h.register('revoked')
    const codeOf = (changes: Partial<RequestOf<typeof suspendAgent>>) =>
      operator.codeOf(askedBy('admin', suspendAgent), { agent: agentId, until: null, ...WHY, ...changes })
    const unknown = 'no agent has the id or name'
    await expect(operator.suspend('nobody-has-this')).rejects.toThrow(`${unknown} nobody-has-this`)
    expect(await codeOf({ agent: newKey().agentId })).toBe('not_found')
    expect(await codeOf({ until: Math.floor(Date.now() / 1_000) })).toBe('invalid_request')
    expect(await codeOf({ dry_run: false, reason: undefined } as never)).toBe('invalid_request')
    await h.call(revokeAgent, { agent_id: agentId })
    expect(await codeOf({})).toBe('agent_revoked')
    expect(await auditOf(agentId)).toEqual([])
  })

  test('reads of public things by others go on, and the settings stay', async () => {
    const { agentId } = await h.register('public')
    await h.call(updateSettings, { agent_id: agentId, settings: { discoverable: true } })
    await operator.suspend(agentId)
    expect((await h.call(findAgentByName, { name: 'public' })).agent).toMatchObject({
      agent_id: agentId,
      revoked: false,
    })
    expect((await h.call(listAgents, { after: '', limit: 100 })).agents.map(({ name }) => name)).toContain('public')
  })

  test('it needs no other service: the answer names those that have not confirmed, and a loop tells them later', async () => {
    const { agentId } = await h.register('alone')
    await Promise.all([h.budget.down(), h.messaging.down(), h.webhook.down()])
    expect(await operator.suspend(agentId)).toMatchObject({ changed: true, waiting_for: ['messaging', 'webhook'] })
    expect(await admitted(agentId)).toMatchObject({ suspended: { until: null } })
    await h.messaging.up()
    await eventually(() => h.messaging.suspensions.has(agentId), { what: 'the push to messaging' })
    expect(await operator.suspend(agentId)).toMatchObject({ changed: false, waiting_for: ['webhook'] })
    await Promise.all([h.webhook.up(), h.budget.up()])
    await eventually(() => h.webhook.suspensions.has(agentId), { what: 'the push to webhook' })
    await eventually(async () => expect(await operator.suspend(agentId)).toMatchObject({ waiting_for: [] }))
  })
})

describe('spec 12.4: a process killed between any two steps of a suspension', () => {
  test.each(['identity.suspension.committed', 'identity.suspension.pushed'])(
    '%s: the agent is suspended, messaging and webhook learn of it, and the audit has one row',
    async (place) => {
      await using own = new AsyncDisposableStack()
      const harness = own.use(await startHarness({ replicas: 0 }))
      const asks = await startOperator(own, harness)
      const first = await harness.start()
      const { agentId } = await harness.register('victim')
      await first[Symbol.asyncDispose]()
      const dying = await harness.spawn({ SVC_FAILPOINTS: `${place}=kill` })
      const request = { agent: agentId, until: null, ...WHY }
      expect(await endingOf(dying, () => asks.codeOf(askedBy('admin', suspendAgent), request))).toBe('signal SIGKILL')

      await harness.start()
      const { call, messaging, webhook } = harness
      expect(await call(admitRequest, { agent_id: agentId, nonce: newNonce() })).toHaveProperty('suspended')
      await eventually(() => messaging.suspensions.has(agentId) && webhook.suspensions.has(agentId))
      expect(await asks.suspend(agentId)).toMatchObject({ changed: false })
      expect(await auditOf(agentId, harness)).toHaveLength(1)
    },
    120_000,
  )
})
