import { readFileSync } from 'node:fs'
import type { Envelope, Message } from '@svc/contracts/resources.ts'
import { AgentClient } from '@svc/sdk/client.ts'
import { type AgentKey, keyFromSeed } from '@svc/sdk/keys.ts'
import { describe, expect, test } from 'vitest'
import type { SentRecord } from '../store/sent.ts'
import { createReader, type Problem, type Reader } from './read.ts'
import type { Senders } from './senders.ts'

interface Verdicts {
  authority: string
  agents: { name: string; secret_key: string; agent_id: string }[]
  cases: {
    about: string
    reader: string
    read_from: string
    sender_public_key?: string
    envelope: Envelope
    verdict: string
  }[]
}
const { authority, agents, cases } = JSON.parse(
  readFileSync(new URL('../../../../docs/vectors/verdicts.json', import.meta.url), 'utf8'),
) as Verdicts
const keyOf = (name: string): AgentKey =>
  keyFromSeed(agents.find((agent) => agent.name === name)?.secret_key ?? expect.unreachable())

/** A reader of an agent that knows every sender, and has these copies of what it sent. */
function readerOf(
  name: string,
  {
    sent = [],
    isStrict = false,
    isKnown = true,
    senderKey,
  }: { sent?: SentRecord[]; isStrict?: boolean; isKnown?: boolean; senderKey?: string | undefined } = {},
): { reader: Reader; client: AgentClient } {
  const key = keyOf(name)
  const client = new AgentClient({ url: 'http://127.0.0.1:9', key, authority })
  const senders = {
    ofAgent: async (agentId: string) => {
      const agent = isKnown ? agents.find((one) => one.agent_id === agentId) : undefined
      return agent && { agentId, name: agent.name, pubkey: senderKey ?? keyOf(agent.name).pubkey, source: 'pinned' }
    },
  } as unknown as Senders
  const reader = createReader({
    client,
    own: { agentId: key.agentId, name: () => name },
    senders,
    sent: {
      find: (id) => sent.find(({ envelope }) => envelope.id === id),
      save: () => undefined,
      findRecent: () => undefined,
    },
    requireVerified: isStrict,
  })
  return { reader, client }
}

const signal = new AbortController().signal
const messageOf = (envelope: Envelope, lane: Message['lane'] = 'inbox'): Message => ({
  envelope,
  lane,
  created_at: 1,
  expires_at: 2,
  acked: false,
  upvotes: 0,
})
const PROBLEMS: Partial<Record<string, Problem>> = {
  bad_signature: 'invalid_signature',
  cannot_open: 'cannot_open',
  addressed_to_another: 'addressed_to_another',
}

describe('spec 13.5: the verdict of a vector', () => {
  test.each(cases)('$about: $verdict', async ({ reader: name, read_from, sender_public_key, envelope, verdict }) => {
    const boardId = read_from === 'inbox' ? undefined : read_from.slice('board:'.length)
    const senderKey = sender_public_key === undefined ? undefined : `ed25519:${sender_public_key}`
    const { reader } = readerOf(name, { senderKey })
    const message = messageOf(envelope, boardId === undefined ? 'inbox' : 'board')
    const reading = await reader.read(message, signal, boardId)
    expect([reading.verified, reading.problem]).toEqual([verdict === 'verified', PROBLEMS[verdict]])
    if (verdict === 'addressed_to_another') {
      const strict = await readerOf(name, { isStrict: true }).reader.read(message, signal, boardId)
      expect(strict).toMatchObject({ body: undefined, problem: 'addressed_to_another' })
      const unknown = await readerOf(name, { isKnown: false }).reader.read(message, signal, boardId)
      expect(unknown).toMatchObject({ verified: false, problem: 'addressed_to_another' })
    }
  })
})

describe('a copy of a sent message', () => {
  test.each<[string, boolean, Partial<Envelope>, Problem | undefined]>([
    ['is what was sent', true, {}, undefined],
    ['is what was sent, and was not sealed', false, {}, undefined],
    ['has another recipient', true, { to: `mallory@${authority}` }, 'altered'],
    ['is in another thread', true, { thread_id: 'another-thread' }, 'altered'],
    ['answers another message', false, { reply_to: 'another-message' }, 'altered'],
    ['has another type', true, { type: 'error' }, 'altered'],
    ['has another body', false, { body: 'more' } as Partial<Envelope>, 'altered'],
  ])('%s (sealed: %s)', async (_, isSealed, change, problem) => {
    const [own = expect.unreachable(), other = expect.unreachable()] = agents
    const { client } = readerOf(own.name)
    const to = `${other.name}@${authority}`
    const seal = isSealed ? keyOf(other.name).pubkey : false
    const envelope = await client.compose({ to, body: 'pay', id: 'my-message', threadId: 'my-thread' }, { seal })
    const { reader } = readerOf(own.name, { sent: [{ envelope, body: 'pay', fingerprint: '', composedAt: 1 }] })
    const { body, ...rest } = await reader.read(messageOf({ ...envelope, ...change } as Envelope), signal)
    expect(rest).toMatchObject({ problem, verified: problem === undefined })
    expect(body).toBe(problem === undefined ? 'pay' : undefined)
  })

  test('is verified by its signature if it was sent from elsewhere, and is sealed text that cannot be opened otherwise', async () => {
    const [own = expect.unreachable(), other = expect.unreachable()] = agents
    const { client, reader } = readerOf(own.name)
    const draft = { to: `${other.name}@${authority}`, body: 'pay' }
    expect(await reader.read(messageOf(await client.compose(draft)), signal)).toMatchObject({
      verified: true,
      body: 'pay',
    })
    const sealed = await client.compose(draft, { seal: keyOf(other.name).pubkey })
    expect(await reader.read(messageOf(sealed), signal)).toMatchObject({
      verified: false,
      problem: 'plaintext_missing',
    })
  })
})

test('a recipient that is no address is not verified, and does not break a list', async () => {
  const [own = expect.unreachable(), other = expect.unreachable()] = agents
  const envelope = await readerOf(other.name).client.compose({ to: `${own.name}@${authority}`, body: 'x' })
  const broken = messageOf({ ...envelope, to: 'no address' } as Envelope)
  expect(await readerOf(own.name).reader.read(broken, signal)).toMatchObject({ problem: 'addressed_to_another' })
})
