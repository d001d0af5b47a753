import { signal } from '@preact/signals'
import type { Envelope, Message } from '@svc/contracts/resources.ts'
import { AgentClient } from '@svc/sdk/client.ts'
import { generateKey, keyFromSeed } from '@svc/sdk/keys.ts'
import { describe, expect, test } from 'vitest'
import verdicts from '../../../../../docs/vectors/verdicts.json' with { type: 'json' }
import type { AgentContext } from '../agent/context.ts'
import type { People, Person } from '../agent/people.ts'
import { digestOf } from './digest.ts'
import { createOpener, type Opened, type ReadFrom } from './opening.ts'
import type { Outbox } from './outbox.ts'

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
const { authority, agents, cases } = verdicts as unknown as Verdicts

interface Scene {
  readonly name: string
  readonly key: ReturnType<typeof generateKey>
  readonly people?: readonly Person[]
  readonly sent?: readonly Envelope[]
}

function openerOf({ name, key, people = [], sent = [] }: Scene) {
  const client = new AgentClient({ url: 'http://127.0.0.1:9', key, authority, name })
  const copies = sent.map((one) => [one.id, { body: 'hello', to: one.to, sentAtMs: 0, digest: digestOf(one) }] as const)
  return createOpener(
    { client, key, name: signal(name) } as unknown as AgentContext,
    { known: signal(new Map(people.map((person) => [person.agentId, person]))) } as unknown as People,
    { sent: signal(new Map(copies)), pending: signal(new Map()) } as unknown as Outbox,
  )
}

const messageOf = (envelope: Envelope): Message => ({ envelope: JSON.parse(JSON.stringify(envelope)) }) as Message

const outcomeOf = (opened: Opened): string =>
  opened.kind === 'open' ? opened.trust : opened.kind === 'failed' ? opened.reason : opened.kind

test.each(cases)('spec 13.5: $about: $verdict', async ({ reader, read_from, sender_public_key, envelope, verdict }) => {
  const own = agents.find(({ name }) => name === reader) ?? expect.unreachable()
  const sender = sender_public_key ?? agents.find(({ agent_id }) => agent_id === envelope.from)?.public_key
  const person: Person = { agentId: envelope.from, pubkey: `ed25519:${sender}`, source: 'directory' }
  const opener = openerOf({ name: reader, key: keyFromSeed(own.secret_key), people: [person] })
  const readFrom = read_from === 'inbox' ? 'mail' : (read_from as ReadFrom)
  const expected = { verified: 'directory', bad_signature: 'invalid_signature' }[verdict] ?? verdict
  expect(outcomeOf(await opener.open(messageOf(envelope), readFrom))).toBe(expected)
})

describe('spec 13.5: what is kept of an answer', () => {
  const [alice, bob] = [generateKey(), generateKey()]
  const person: Person = { agentId: bob.agentId, pubkey: bob.pubkey, name: 'bob', source: 'pinned' }
  const self: Person = { agentId: alice.agentId, pubkey: alice.pubkey, name: 'alice', source: 'self' }
  const clientOf = (key: typeof bob, name: string) =>
    new AgentClient({ url: 'http://127.0.0.1:9', key, authority, name })
  const scene = { name: 'alice', key: alice, people: [person, self] }

  test('another envelope under the same id is opened anew', async () => {
    const opener = openerOf(scene)
    const message = messageOf(await clientOf(bob, 'bob').compose({ to: 'alice', body: 'hello' }, { seal: false }))
    expect(outcomeOf(await opener.open(message, 'mail'))).toBe('pinned')
    const forged = messageOf({ ...message.envelope, body: 'pay' } as Envelope)
    expect(opener.peek(forged, 'mail')).toBeUndefined()
    expect(outcomeOf(await opener.open(forged, 'mail'))).toBe('invalid_signature')
    expect(opener.peek(messageOf(message.envelope), 'mail')).toMatchObject({ body: 'hello', trust: 'pinned' })
  })

  test.each([
    ['signed', false],
    ['sealed', true],
  ])('a %s copy of a sent message must be the one that was sent', async (_, isSealed) => {
    const seal = isSealed && bob.pubkey
    const client = clientOf(alice, 'alice')
    const [sent, other] = [
      await client.compose({ to: 'bob', body: 'hello' }, { seal }),
      await client.compose({ to: 'bob', body: 'other' }, { seal }),
    ]
    const opener = openerOf({ ...scene, sent: [sent] })
    expect(await opener.open(messageOf(sent), 'sent')).toMatchObject({ kind: 'open', body: 'hello', trust: 'self' })
    // Both are signed by this agent, or cannot be opened here.
    expect(outcomeOf(await opener.open(messageOf({ ...other, id: sent.id }), 'sent'))).toBe('changed')
    expect(outcomeOf(await opener.open(messageOf({ ...sent, to: `carol@${authority}` }), 'sent'))).toBe('changed')
    expect(outcomeOf(await opener.open(messageOf(other), 'sent'))).toBe(isSealed ? 'elsewhere' : 'self')
  })

  test('an own message to somebody else is not for the inbox', async () => {
    const sent = await clientOf(alice, 'alice').compose({ to: 'bob', body: 'hello' }, { seal: false })
    expect(outcomeOf(await openerOf(scene).open(messageOf(sent), 'mail'))).toBe('addressed_to_another')
  })
})
