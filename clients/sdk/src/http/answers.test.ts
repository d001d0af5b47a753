import * as contracts from '@svc/contracts/resources.ts'
import { describe, expect, test } from 'vitest'
import { AnswerError } from '../errors.ts'
import * as answers from './answers.ts'

const agent: contracts.Agent = {
  agent_id: '4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi',
  name: 'alice',
  pubkey: `ed25519:${'0'.repeat(64)}`,
  created_at: 1,
  revoked: false,
}
const envelope: contracts.SignedEnvelope = {
  id: '12345678',
  from: agent.agent_id,
  to: 'bob@x',
  type: 'event',
  ts: '2026-11-20T12:00:00Z',
  body: null,
  sig: 'A==',
}
const message: contracts.Message = {
  envelope,
  lane: 'inbox',
  created_at: 1,
  expires_at: 2,
  acked: false,
  upvotes: 0,
}
const { body, sig, ...head } = envelope
const sealed: contracts.SealedEnvelope = { ...head, body_enc: 'AA==', ephemeral_pub: 'AA==' }

const board: contracts.BoardDetails = {
  id: '0'.repeat(20),
  owner: agent.agent_id,
  title: 'news',
  description: '',
  visibility: 'public',
  posting: 'members',
  created_at: 1,
}

interface Schema {
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  type?: string
}

/** Every answer: its schema in the contracts, an example, and the check of the SDK. */
const CASES: [string, object, object, answers.Shape<unknown>][] = [
  ['Agent', contracts.Agent, agent, answers.agent],
  ['WebhookState', contracts.WebhookState, { url: 'https://x/', pending: 0, failed: 0 }, answers.webhook],
  ['AgentList', contracts.AgentList, { agents: [agent], next_cursor: '' }, answers.agentPage],
  [
    'Challenge',
    contracts.Challenge,
    { challenge: 'c', difficulty: 18, expires_at: 1, algorithm: 'sha256' },
    answers.challenge,
  ],
  ['RegistrationResult', contracts.RegistrationResult, { agent_id: 'x', address: 'a@x' }, answers.registration],
  [
    'Identity',
    contracts.Identity,
    { agent, address: 'alice@x', inbox_policy: 'requests', discoverable: false },
    answers.identity,
  ],
  [
    'Budget',
    contracts.Budget,
    {
      daily_free_units: 100,
      daily_hard_limit: 1000,
      used_units: 1,
      credit_balance: 0,
      used_introductions: 1,
      daily_introduction_limit: 10,
      resets_at: 1,
      vote_bonus: 0,
    },
    answers.budget,
  ],
  ['Contact', contracts.Contact, { state: 'accepted' }, answers.contact],
  [
    'ContactList',
    contracts.ContactList,
    { contacts: [{ agent_id: 'x', state: 'blocked' }], next_cursor: '' },
    answers.contactPage,
  ],
  ['SignedEnvelope', contracts.SignedEnvelope, envelope, answers.envelope],
  ['SealedEnvelope', contracts.SealedEnvelope, sealed, answers.envelope],
  ['Message', contracts.Message, message, answers.message],
  ['MessageList', contracts.MessageList, { messages: [message], next_cursor: 'x' }, answers.messagePage],
  [
    'SendResult',
    contracts.SendResult,
    { msg_id: '12345678', status: 'accepted', lane: 'inbox', duplicate: false, sender_authenticated: true },
    answers.sendResult,
  ],
  ['Receipt', contracts.Receipt, { msg_id: '12345678', status: 'accepted', accepted_at: 1 }, answers.receipt],
  [
    'Events',
    contracts.Events,
    { events: [{ cursor: 1, kind: 'inbox', message }], next_cursor: 1, retention_days: 0.5 },
    answers.events,
  ],
  ['BoardDetails', contracts.BoardDetails, board, answers.board],
  ['BoardList', contracts.BoardList, { boards: [board], next_cursor: '' }, answers.boardPage],
  ['MemberList', contracts.MemberList, { members: [{ agent_id: 'x', role: 'owner' }] }, answers.members],
  ['Membership', contracts.Membership, { role: 'reader' }, answers.membership],
  ['VoteResult', contracts.VoteResult, { status: 'voted', quota_bonus: 0 }, answers.vote],
  ['Visibility', contracts.Visibility, { hidden: true }, answers.visibility],
  ['Health', contracts.Health, { status: 'ok', service: 's', version: 'v' }, answers.health],
  ['AckResult', contracts.AckResult, { status: 'acked' }, answers.status],
  ['RevokeResult', contracts.RevokeResult, { status: 'revoked' }, answers.status],
]

describe.each(CASES)('%s', (_, schema, example, shape) => {
  test('the example is accepted, even with members that a newer service adds', () => {
    expect(() => shape(example)).not.toThrow()
    expect(() => shape(withExtra(example))).not.toThrow()
  })

  const members = requiredMembers(schema, [])

  test('the contract has required members', () => {
    expect(members.length).toBeGreaterThan(0)
  })

  test.each(members.map((path) => [path.join('.')]))('%s is required, with its type', (joined) => {
    const path = joined.split('.')
    expect(() => shape(without(example, path))).toThrow(AnswerError)
    if (joined.endsWith('body')) return // `body` may be any JSON
    expect(() => shape(replaced(example, path, { unexpected: 1 }))).toThrow(AnswerError)
  })
})

test.each([null, [], 'text', 7, undefined])('the answer %j is refused', (value) => {
  for (const [, , , shape] of CASES) expect(() => shape(value)).toThrow(AnswerError)
})

test('an envelope that is both signed and sealed, or neither, is refused', () => {
  expect(() => answers.envelope({ ...envelope, ...sealed })).toThrow(AnswerError)
  expect(() => answers.envelope(head)).toThrow(AnswerError)
  expect(() => answers.envelope({ ...head, body, sig })).not.toThrow()
})

test('an error names the member and not its value', () => {
  expect(() => answers.messagePage({ messages: [{ ...message, acked: 'secret' }], next_cursor: '' })).toThrow(
    new AnswerError('the answer.messages[0].acked is not true or false'),
  )
})

/** Paths of required members, through objects and lists. The members of an envelope have their own cases. */
function requiredMembers(schema: Schema, at: string[]): string[][] {
  const paths: string[][] = []
  for (const name of schema.required ?? []) {
    const member = schema.properties?.[name]
    if (member === undefined) continue
    paths.push([...at, name])
    if (member.type === 'object') paths.push(...requiredMembers(member, [...at, name]))
    if (member.type === 'array' && member.items !== undefined) {
      paths.push(...requiredMembers(member.items, [...at, name, '0']))
    }
  }
  return paths
}

function without(value: object, path: string[]): unknown {
  return edit(value, path, (owner, name) => Reflect.deleteProperty(owner, name))
}

function replaced(value: object, path: string[], by: unknown): unknown {
  return edit(value, path, (owner, name) => Reflect.set(owner, name, by))
}

function edit(value: object, path: string[], change: (owner: object, name: string) => void): unknown {
  const copy = structuredClone(value)
  const owner = path.slice(0, -1).reduce<object>((inner, name) => Reflect.get(inner, name) as object, copy)
  change(owner, path.at(-1) ?? '')
  return copy
}

function withExtra(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withExtra)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([name, member]) => [name, withExtra(member)])
  return { ...Object.fromEntries(members), added_later: [1] }
}
