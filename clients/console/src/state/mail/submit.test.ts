import { signal } from '@preact/signals'
import type { ContactState, InboxPolicy } from '@svc/contracts/resources.ts'
import { ApiError } from '@svc/sdk/errors.ts'
import { generateKey } from '@svc/sdk/keys.ts'
import { describe, expect, test } from 'vitest'
import { strings } from '../../strings.ts'
import { Contacts } from '../agent/contacts.ts'
import { AUTHORITY, createFakeContext, createFakeDirectory } from '../agent/fake-context.ts'
import { People } from '../agent/people.ts'
import type { Workspace } from '../agent/workspace.ts'
import { explain } from '../failures.ts'
import { Drafts } from './drafts.ts'
import { Outbox } from './outbox.ts'
import { answersOf, readBody, recipientOf, submit } from './submit.ts'

const [alice, bob] = [generateKey(), generateKey()]
const BOARD = '0k8vs2m4x1c00112233445566778899'

test.each([
  ['bob', { kind: 'agent', name: 'bob' }],
  [' Bob ', { kind: 'agent', name: 'bob' }],
  [`bob@${AUTHORITY}`, { kind: 'agent', name: 'bob' }],
  ['bob@MESSAGES.EXAMPLE', { kind: 'agent', name: 'bob' }],
  ['bob@elsewhere.example', undefined],
  [`bob@${AUTHORITY}@elsewhere.example`, undefined],
  [bob.agentId, undefined],
  [`board:${BOARD}`, { kind: 'board', id: BOARD }],
  ['board:short', undefined],
  ['', undefined],
])('spec 6.2: %j is the recipient %j', (text, recipient) => {
  expect(recipientOf(text, AUTHORITY)).toEqual(recipient)
})

test.each([
  ['text', '{"id":1', false, { body: '{"id":1' }],
  ['JSON', '{"id":1}', true, { body: { id: 1 } }],
  ['no JSON', '{"id":1', true, { problem: strings.write.jsonWrong('the body is not I-JSON: not JSON') }],
  [
    'an integer that would change',
    '{"id":9007199254740993}',
    true,
    { problem: expect.stringMatching(/body\.id is an integer of more than 53 bits/) },
  ],
])('the body of a draft: %s', (_, text, isJson, expected) => {
  expect(readBody({ text, isJson })).toEqual(expected)
})

/** A workspace whose service accepts everything, and that records its calls in order. */
async function sceneOf(state: ContactState | undefined, inbox_policy: InboxPolicy = 'requests') {
  const calls: string[] = []
  const context = createFakeContext({ name: 'alice', key: alice }, createFakeDirectory({ bob }))
  const { client } = context
  Object.assign(client, {
    setContact: async (who: string, next: ContactState) => calls.push(`${next} ${who}`),
    acceptReplies: async (who: string) => {
      calls.push(`accept ${who}`)
      return state === undefined ? 'accepted' : state === 'blocked' ? 'blocked' : 'already'
    },
    post: async ({ to, from }: { to: string; from: string }) => {
      calls.push(`post from ${from} to ${to}`)
      return { msg_id: 'm', duplicate: false, lane: 'inbox' }
    },
  })
  const records = { get: async () => undefined, put: async () => {}, delete: async () => {}, list: async () => [] }
  Object.assign(context.store, { pending: records, sent: records, drafts: records })
  const people = new People(context)
  await people.load()
  const contacts = new Contacts(context, people)
  if (state !== undefined) await contacts.set(`bob@${AUTHORITY}`, state)
  calls.length = 0
  const settings = { identity: signal({ inbox_policy }) }
  const [outbox, drafts] = [new Outbox(context, contacts), new Drafts(context)]
  return { calls, workspace: { context, people, contacts, settings, outbox, drafts } as unknown as Workspace }
}

test.each([
  ...['b', 'a@b@c', '', 'board:x'].map((to) => [to, 'to must be <name>@<authority> or board:<board id>']),
  ['bob@elsewhere.example', 'the recipient belongs to another authority than this service'],
])('spec 6.2: the mistyped recipient %j gives the error of the SDK', async (to = '', words) => {
  const { calls, workspace } = await sceneOf(undefined)
  const draft = workspace.drafts.create({ to, text: 'hi' })
  const refused = submit(workspace, draft, recipientOf(to, AUTHORITY), { acceptReplies: false })
  expect(explain(await refused.catch((error: unknown) => error))).toContain(words)
  expect(calls).toEqual([])
})

describe('spec 7.7: answers of the recipient', () => {
  test.each([
    ['bob', undefined, 'requests', 'offered'],
    ['bob', undefined, 'contacts', 'offered'],
    ['bob', undefined, 'open', 'arrive'],
    ['bob', undefined, 'closed', 'arrive'],
    ['bob', 'accepted', 'requests', 'arrive'],
    ['bob', 'blocked', 'requests', 'blocked'],
    ['alice', undefined, 'requests', 'arrive'],
    [`board:${BOARD}`, undefined, 'requests', 'arrive'],
  ] as const)('to %s with contact %s under policy %s: %s', async (to, state, policy, expected) => {
    const { workspace } = await sceneOf(state, policy)
    expect(answersOf(recipientOf(to, AUTHORITY), workspace)).toBe(expected)
  })

  test('the recipient is accepted before the message is sent, is marked, and can be taken back', async () => {
    const { calls, workspace } = await sceneOf(undefined)
    const draft = workspace.drafts.create({ to: `bob@${AUTHORITY}`, text: 'hi' })
    await submit(workspace, draft, { kind: 'agent', name: 'bob' }, { acceptReplies: true })
    expect(calls).toEqual(['accept bob', `post from alice@${AUTHORITY} to bob@${AUTHORITY}`])
    const { contacts } = workspace
    expect([contacts.stateOf('bob'), [...contacts.acceptedByMessage.value]]).toEqual(['accepted', [bob.agentId]])
    await contacts.set(bob.agentId, 'none')
    expect([contacts.stateOf('bob'), contacts.acceptedByMessage.value.size]).toEqual([undefined, 0])
  })

  test('a block stays a block, and without the choice nobody is accepted', async () => {
    const { calls, workspace } = await sceneOf('blocked')
    const draft = workspace.drafts.create({ to: 'bob', text: 'hi' })
    await submit(workspace, draft, { kind: 'agent', name: 'bob' }, { acceptReplies: true })
    expect(workspace.contacts.stateOf('bob')).toBe('blocked')
    calls.length = 0
    await submit(workspace, draft, { kind: 'agent', name: 'bob' }, { acceptReplies: false })
    expect(calls).toEqual([`post from alice@${AUTHORITY} to bob@${AUTHORITY}`])
  })

  test('a refused acceptance sends nothing', async () => {
    const { calls, workspace } = await sceneOf(undefined)
    const refusal = new ApiError({ status: 429, code: 'budget_exhausted', message: 'no units are left' })
    Object.assign(workspace.context.client, { acceptReplies: () => Promise.reject(refusal) })
    const draft = workspace.drafts.create({ to: 'bob', text: 'hi' })
    await expect(submit(workspace, draft, { kind: 'agent', name: 'bob' }, { acceptReplies: true })).rejects.toBe(
      refusal,
    )
    expect(calls).toEqual([])
    expect(workspace.outbox.pending.value.size).toBe(0)
  })
})
