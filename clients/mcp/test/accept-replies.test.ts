/** The recipient of a message becomes a contact first, so that its answers reach the inbox. */
import { AgentClient } from '@svc/sdk/client.ts'
import { collect, registered, type Service } from '@svc/sdk/test/agents.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readKeyFile } from '../src/store/key-file.ts'
import { type TestClient, textOf } from './scene.ts'
import { type Stage, startStage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await startStage()
})
afterAll(() => stage?.[Symbol.asyncDispose]())

/** Another program of the same agent. */
const programOf = ({ keyPath }: { keyPath: string }): AgentClient =>
  new AgentClient({ url: stage.url, key: readKeyFile(keyPath) })

describe('spec 7.7: a recipient that is accepted with the message', () => {
  test('send_and_wait: one question names both and their units, the answer reaches the inbox, and a repeat does nothing', async () => {
    await using stack = new AsyncDisposableStack()
    const alice = await stage.serve(stack)
    const bob = await stage.agent()
    const request = { to: bob.name, body: '?', timeout_seconds: 0 }
    const { sent } = await alice.call('send_and_wait', request)
    const bobs = { agent_id: bob.client.key?.agentId }
    expect(alice.person.asked).toEqual([
      `The agent ${alice.name} wants to send a message to "${bob.name}" (1 unit), and before that accept it as a contact, so that its answers reach the inbox (1 unit): the recipient is not one of your accepted contacts; only the service says that its agent id is ${bobs.agent_id}; from then on the two agents write to each other without asking you. Content: "?"`,
    ])
    expect(sent).toMatchObject({
      ...bobs,
      key_known_by: 'first_answer',
      acceptance: 'accepted',
      cost_units: 2,
      used_units_today: 2,
      duplicate: false,
    })
    const answer = { to: alice.name, body: '!', type: 'response' as const, replyTo: sent.message_id }
    expect(await bob.client.send(answer)).toMatchObject({ lane: 'inbox' })
    expect(await alice.call('send_and_wait', request)).toMatchObject({
      sent: { duplicate: true, acceptance: null, cost_units: 0, used_units_today: 2 },
      answer: { verified: true, lane: 'inbox', from: { name: bob.name } },
    })
    expect(alice.person.asked).toHaveLength(1)

    // The acceptance is listed, and easily taken back. A repeat does not renew it.
    const contacts = [{ ...bobs, name: bob.name, contact: 'accepted', by_accept_replies: true }]
    expect(await alice.call('list_contacts')).toMatchObject({ contacts, next_cursor: null })
    expect(await alice.call('remove_contact', { agent: bob.name })).toMatchObject({ ...bobs, contact: 'none' })
    expect(await alice.call('send_and_wait', request)).toMatchObject({ sent: { duplicate: true } })
    expect(await alice.call('list_contacts')).toMatchObject({ contacts: [] })
  })

  test('send_message accepts only if it is asked to, and asks even if the person has allowed messages before', async () => {
    await using stack = new AsyncDisposableStack()
    const alice = await stage.serve(stack)
    const bob = await stage.agent()
    expect(await alice.call('send_message', { to: bob.name, body: 'one' })).toMatchObject({ acceptance: null })
    expect(await alice.call('list_contacts')).toMatchObject({ contacts: [] })
    await bob.client.setContact((await alice.call('whoami')).agent_id, 'accepted')
    alice.person.answer = 'decline'
    const second = { to: bob.name, body: 'two', accept_replies: true }
    expect(textOf(await alice.result('send_message', second))).toMatch(/^declined: /)
    expect(await alice.call('list_contacts')).toMatchObject({ contacts: [] })
    expect(await collect(bob.client.inbox())).toHaveLength(1)
    alice.person.answer = 'accept'
    expect(await alice.call('send_message', second)).toMatchObject({ acceptance: 'accepted', cost_units: 2 })
    expect(alice.person.asked).toHaveLength(3)
    const third = { to: bob.name, body: 'three', accept_replies: true }
    expect(await alice.call('send_message', third)).toMatchObject({ acceptance: 'already', cost_units: 1 })
    expect(alice.person.asked).toHaveLength(3)
  })

  test('a blocked agent stays blocked, and no tool but accept_contact changes that', async () => {
    await using stack = new AsyncDisposableStack()
    const alice = await stage.serve(stack)
    const bob = await stage.agent()
    await alice.call('block_contact', { agent: bob.name })
    const { sent } = await alice.call('send_and_wait', { to: bob.name, body: '?', timeout_seconds: 0 })
    expect(sent).toMatchObject({ acceptance: 'blocked', cost_units: 1 })
    expect(alice.person.asked).toEqual([expect.not.stringContaining('contact, so that')])
    expect(textOf(await alice.result('remove_contact', { agent: bob.name }))).toMatch(/^blocked: /)
    expect(await alice.call('list_contacts')).toMatchObject({
      contacts: [{ contact: 'blocked', by_accept_replies: false }],
    })
  })

  test('with --contacts-only nobody is accepted', async () => {
    await using stack = new AsyncDisposableStack()
    const alice = await stage.serve(stack, { policy: { contactsOnly: true, askStrangers: false } })
    const [bob, carol] = [await stage.agent(), await stage.agent()]
    await programOf(alice).setContact(carol.name, 'accepted')
    const request = { body: '?', timeout_seconds: 0 }
    expect(textOf(await alice.result('send_and_wait', { ...request, to: bob.name }))).toMatch(/^contacts_only: /)
    expect(await alice.call('send_and_wait', { ...request, to: carol.name })).toMatchObject({
      sent: { acceptance: 'already', cost_units: 1 },
    })
    expect(await alice.call('list_contacts')).toMatchObject({
      contacts: [{ agent_id: carol.client.key?.agentId, by_accept_replies: false }],
    })
  })

  test('an acceptance that another program took back meanwhile is asked for and made again', async () => {
    await using stack = new AsyncDisposableStack()
    const alice = await stage.serve(stack)
    const bob = await stage.agent()
    await alice.call('send_and_wait', { to: bob.name, body: 'one', timeout_seconds: 0 })
    await bob.client.setContact((await alice.call('whoami')).agent_id, 'accepted')
    await programOf(alice).setContact(bob.name, 'none')
    const second = { to: bob.name, body: 'two', timeout_seconds: 0 }
    expect(await alice.call('send_and_wait', second)).toMatchObject({ sent: { acceptance: 'accepted', cost_units: 2 } })
    expect(alice.person.asked).toHaveLength(2)
    expect(await bob.client.send({ to: alice.name, body: '!' })).toMatchObject({ lane: 'inbox' })
  })

  test('both units count towards the ceilings', async () => {
    await using stack = new AsyncDisposableStack()
    const alice = await stage.serve(stack, { canAsk: false, policy: { askStrangers: false, maxUnits: 1 } })
    const bob = await stage.agent()
    const message = { to: bob.name, body: 'x' }
    expect(textOf(await alice.result('send_and_wait', { ...message, timeout_seconds: 0 }))).toMatch(
      /^cannot_ask: .* it may cost 2 units/,
    )
    expect(await alice.call('list_contacts')).toMatchObject({ contacts: [] })
    expect(await alice.call('send_message', message)).toMatchObject({ cost_units: 1 })
  })
})

/** The writes that the service saw. */
const writes = ({ requests }: Service): string[] =>
  requests
    .filter(({ method, target }) => method !== 'GET' && /contacts|messages/.test(target))
    .map(({ method, target }) => `${method} ${target.split('/')[2]}`)

describe('the order of the requests', () => {
  async function scene(stack: AsyncDisposableStack): Promise<{ alice: TestClient; service: Service }> {
    const own = stack.use(await startStage())
    return { alice: await own.serve(stack, { policy: { askStrangers: false } }), service: own.service }
  }

  test('the recipient is accepted before the message leaves, and a repeat after lost answers does neither again', async () => {
    await using stack = new AsyncDisposableStack()
    const { alice, service } = await scene(stack)
    const [bob] = await registered(service, 'bob')
    service.meet('POST /v2/messages', ...Array.from({ length: 7 }, () => ({ kind: 'lose' }) as const))
    const message = { to: bob.name, body: 'once', accept_replies: true }
    expect(textOf(await alice.result('send_message', message))).toMatch(/^no_answer: /)
    expect(await alice.call('send_message', message)).toMatchObject({
      duplicate: true,
      cost_units: 0,
      used_units_today: 2,
    })
    const [first, ...rest] = writes(service)
    expect(first).toBe('PUT contacts')
    expect(new Set(rest)).toEqual(new Set(['POST messages']))
  })

  test('nobody is accepted for a message that cannot be sent', async () => {
    await using stack = new AsyncDisposableStack()
    const { alice, service } = await scene(stack)
    const [bob, gone] = await registered(service, 'bob', 'gone')
    await gone.revoke(gone.key.agentId)
    for (const [code, args] of [
      ['recipient_unavailable', { to: gone.name, body: 'x' }],
      ['recipient_unavailable', { to: 'nobody', body: 'x' }],
      ['message_too_large', { to: bob.name, body: 'x'.repeat(20_000) }],
      ['invalid_reference', { to: bob.name, body: 'x', reply_to: 'no-such-message' }],
    ] as const)
      expect(textOf(await alice.result('send_message', { ...args, accept_replies: true })), code).toMatch(
        new RegExp(`^${code}: `),
      )
    service.meet('PUT /v2/contacts', { kind: 'refuse', code: 'budget_exhausted', retryAfterSeconds: 60 })
    expect(textOf(await alice.result('send_message', { to: bob.name, body: 'x', accept_replies: true }))).toMatch(
      /^budget_exhausted: .*Nothing was sent/,
    )
    expect(writes(service)).toEqual(['PUT contacts'])
    expect(await collect(bob.inbox({ lane: 'requests' }))).toEqual([])
  })
})
