import { readFileSync } from 'node:fs'
import type { Envelope, Message } from '@svc/contracts/resources.ts'
import { AgentClient } from '@svc/sdk/client.ts'
import { type AgentKey, keyFromSeed } from '@svc/sdk/keys.ts'
import { createMemoryStore, type Store } from '@svc/sdk/store/store.ts'
import { describe, expect, test } from 'vitest'
import type { SentRecord } from '../store/sent.ts'
import { type Problem, Reader } from './read.ts'
import { Senders } from './senders.ts'

interface Verdicts {
  authority: string
  agents: { name: string; secret_key: string; public_key: string; agent_id: string }[]
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

/** The service's `GET /v2/agents/{name}` and `GET /v2/agents`, which lists every agent. */
const DIRECTORY: typeof fetch = async (input) => {
  const { pathname } = new URL(String(input))
  const all = agents.map(({ name, agent_id, public_key }) => {
    return { agent_id, name, pubkey: `ed25519:${public_key}`, created_at: 1, revoked: false }
  })
  if (pathname === '/v2/agents') return Response.json({ agents: all, next_cursor: '' })
  const agent = all.find(({ name }) => pathname === `/v2/agents/${name}`)
  return agent === undefined ? NOBODY(input) : Response.json(agent)
}
const NOBODY: typeof fetch = async (input) =>
  new URL(String(input)).pathname === '/v2/agents'
    ? Response.json({ agents: [], next_cursor: '' })
    : Response.json({ error: { code: 'not_found', message: '' } }, { status: 404 })

interface Options {
  readonly sent?: SentRecord[]
  readonly isStrict?: boolean
  readonly service?: typeof fetch
  /** The key of every sender, whatever the service says. */
  readonly senderKey?: string | undefined
  readonly store?: Store
}

/** A reader of an agent, which has these copies of what it sent. */
function readerOf(
  name: string,
  { sent = [], isStrict = false, service = DIRECTORY, senderKey, store }: Options = {},
): { reader: Reader; client: AgentClient; senders: Senders } {
  const key = keyOf(name)
  const options = { key, authority, name, fetch: service, ...(store === undefined ? {} : { store }) }
  const client = new AgentClient({ url: 'http://127.0.0.1:9', ...options })
  const used = new Set<string>()
  const own = { agentId: key.agentId, pubkey: key.pubkey, name, authority }
  const marks = { has: (id: string) => used.has(id), add: (id: string) => void used.add(id) }
  const senders = new Senders(client, marks, own)
  const told = new Senders(client, marks, own)
  told.ofSender = async (from) => {
    const agent = await senders.ofSender(from, signal)
    return agent && senderKey !== undefined ? { ...agent, pubkey: senderKey } : agent
  }
  const reader = new Reader({
    client,
    own,
    senders: told,
    sent: { find: (id) => sent.find(({ envelope }) => envelope.id === id) },
    requireVerified: isStrict,
  })
  return { reader, client, senders }
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
const PROBLEMS: Partial<Record<string, readonly Problem[]>> = {
  bad_signature: ['invalid_signature', 'wrong_key'],
  cannot_open: ['cannot_open'],
  addressed_to_another: ['addressed_to_another'],
  unknown_sender: ['unknown_sender'],
}

describe('spec 13.5: the verdict of a vector', () => {
  test.each(cases)('$about: $verdict', async ({ reader: name, read_from, sender_public_key, envelope, verdict }) => {
    const boardId = read_from === 'inbox' ? undefined : read_from.slice('board:'.length)
    const senderKey = sender_public_key === undefined ? undefined : `ed25519:${sender_public_key}`
    const { reader } = readerOf(name, { senderKey })
    const message = messageOf(envelope, boardId === undefined ? 'inbox' : 'board')
    const reading = await reader.read(message, signal, boardId)
    expect(reading.verified).toBe(verdict === 'verified')
    expect(PROBLEMS[verdict] ?? [undefined]).toContain(reading.problem)
    if (verdict === 'addressed_to_another') {
      const strict = await readerOf(name, { isStrict: true }).reader.read(message, signal, boardId)
      expect(strict).toMatchObject({ body: undefined, problem: 'addressed_to_another' })
      const unknown = await readerOf(name, { service: NOBODY }).reader.read(message, signal, boardId)
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
    ['names this agent by its id instead of its address', false, { from: agents[0]?.agent_id ?? '' }, 'altered'],
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

test('spec 13.5: a key that differs from the one that another process has pinned meanwhile is refused, and the text is not shown', async () => {
  const [own = expect.unreachable(), other = expect.unreachable(), third = expect.unreachable()] = agents
  const envelope = await readerOf(other.name).client.compose({ to: `${own.name}@${authority}`, body: 'x' })
  const pins = createMemoryStore()
  const service: typeof fetch = async (input) => {
    await pins.set(`pin/${other.name}`, `ed25519:${third.public_key}`)
    return DIRECTORY(input)
  }
  const { reader } = readerOf(own.name, { service, store: pins })
  expect(await reader.read(messageOf(envelope), signal)).toMatchObject({ problem: 'key_changed', body: undefined })
})
