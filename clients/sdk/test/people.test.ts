import type { Envelope } from '@svc/contracts/resources.ts'
import type { SignedEnvelope } from '@svc/envelope/envelope.ts'
import { signEnvelope } from '@svc/envelope/sign-envelope.ts'
import type { AgentClient } from '@svc/sdk/client.ts'
import { StoreError, VerificationError } from '@svc/sdk/errors.ts'
import type { OpenOptions } from '@svc/sdk/http/options.ts'
import { generateKey } from '@svc/sdk/keys.ts'
import { createMemoryStore } from '@svc/sdk/store/store.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { clientOf, registered, type Service, startService } from './agents.ts'

let service: Service
let [alice, bob, carol]: Awaited<ReturnType<typeof registered<['alice', 'bob', 'carol']>>> = [] as never

beforeEach(async () => {
  service = await startService()
  ;[alice, bob, carol] = await registered(service, 'alice', 'bob', 'carol')
})
afterEach(() => service[Symbol.asyncDispose]())

/** A client of bob that knows nobody. */
function reader(options: Parameters<typeof clientOf>[1] = {}): AgentClient {
  return clientOf(service, { key: bob.key, name: bob.name, authority: service.authority, ...options })
}

const lookups = (): number => service.requests.filter(({ target }) => target.startsWith('/v2/agents/')).length

/** From now on, the service gives carol's key for alice's name. */
async function lieAbout(name: string): Promise<void> {
  const lie = { ...(await carol.lookup(carol.name)), name }
  service.meet(`GET /v2/agents/${name}`, { kind: 'answer', status: 200, body: JSON.stringify(lie) })
}

async function verdictOf(client: AgentClient, envelope: Envelope, options: OpenOptions = {}): Promise<string> {
  try {
    const { verified, sender } = await client.open(envelope, options)
    const from = sender?.name ?? sender?.agentId ?? 'nobody'
    return `${verified ? 'verified' : 'not verified'}, from ${from.split('-')[0]}`
  } catch (error) {
    if (error instanceof VerificationError) return error.reason
    throw error
  }
}

describe('spec 13.5: `from` with an address', () => {
  const id = (): string => alice.key.agentId
  const key = (): string => alice.key.pubkey
  const address = (): string => alice.fullAddress

  test.each<[string, () => string | undefined, string, string]>([
    ['nobody', () => undefined, 'verified, from alice', 'verified, from alice'],
    ['its name', () => alice.name, 'verified, from alice', 'verified, from alice'],
    ['its address', address, 'verified, from alice', 'verified, from alice'],
    [
      'its address in capitals',
      () => alice.fullAddress.replace(service.authority, service.authority.toUpperCase()),
      'verified, from alice',
      'verified, from alice',
    ],
    ['its id', id, 'verified, from alice', 'verified, from alice'],
    // The name of a key that was given is learnt only by a look-up.
    ['its key', key, 'verified, from id', 'verified, from alice'],
    ['another name', () => carol.name, 'wrong_key', 'wrong_key'],
    ['the name at another service', () => 'alice@elsewhere.example', 'unknown_sender', 'unknown_sender'],
    ['another id', () => carol.key.agentId, 'wrong_key', 'wrong_key'],
    ['another key', () => carol.key.pubkey, 'invalid_signature', 'wrong_key'],
  ])('if the caller expects %s', async (_, sender, unknown, pinned) => {
    const envelope = await alice.compose({ to: bob.name, body: 1 })
    const [first, second] = [reader(), reader()]
    await second.lookup(alice.name)
    const verdict = async (client: AgentClient): Promise<string> =>
      (await verdictOf(client, envelope, { sender: sender() })).replace(id(), 'id')
    expect([await verdict(first), await verdict(second)]).toEqual([unknown, pinned])
  })

  test.each<[string, (envelope: Envelope) => Envelope, string, string]>([
    [
      'of a name that nobody has',
      (e) => ({ ...e, from: `nobody@${service.authority}` }),
      'unknown_sender',
      'not verified, from nobody',
    ],
    [
      'of another service',
      (e) => ({ ...e, from: 'alice@elsewhere.example' }),
      'unknown_sender',
      'not verified, from nobody',
    ],
    ['of another agent', (e) => ({ ...e, from: carol.fullAddress }), 'invalid_signature', 'invalid_signature'],
    ['that is none', (e) => ({ ...e, from: '../alice' }), 'unknown_sender', 'unknown_sender'],
  ])('the address %s', async (_, change, strict, lenient) => {
    const envelope = change(await alice.compose({ to: bob.name, body: 1 }))
    expect(await verdictOf(reader(), envelope)).toBe(strict)
    expect(await verdictOf(reader(), envelope, { allowUnverified: true })).toBe(lenient)
  })

  test('nobody is verified under an address of another service, even with a key that the caller gives', async () => {
    const { sig: _, ...composed } = (await alice.compose({ to: bob.name, body: 1 })) as SignedEnvelope
    const envelope = signEnvelope({ ...composed, from: 'alice@elsewhere.example' }, alice.key.secretKey) as Envelope
    const client = reader()
    expect(await verdictOf(client, envelope, { sender: key() })).toBe('unknown_sender')
    expect(await verdictOf(client, envelope, { sender: key(), allowUnverified: true })).toBe(
      'not verified, from nobody',
    )
  })

  test('the service is asked once for a name, and its answer is pinned', async () => {
    const envelope = await alice.compose({ to: bob.name, body: 1 })
    const client = reader()
    const before = lookups()
    for (let n = 0; n < 3; n += 1) expect(await verdictOf(client, envelope)).toBe('verified, from alice')
    expect(await client.resolve(alice.name)).toEqual({ agentId: id(), name: alice.name, pubkey: key() })
    expect(await client.resolve(id())).toEqual(await client.resolve(address()))
    expect(lookups()).toBe(before + 1)
  })

  test('a later process with the same store verifies who names itself by its id', async () => {
    const store = createMemoryStore()
    await reader({ store }).lookup(alice.name)
    const { sig: _, ...composed } = (await alice.compose({ to: bob.name, body: 1 })) as SignedEnvelope
    const envelope = signEnvelope({ ...composed, from: id() }, alice.key.secretKey) as Envelope
    expect(await verdictOf(reader({ store }), envelope)).toBe('verified, from alice')
    expect(await verdictOf(reader(), envelope)).toBe('unknown_sender')
  })

  test('an outage is not a verdict', async () => {
    const envelope = await alice.compose({ to: bob.name, body: 1 })
    service.meet(`GET /v2/agents/${alice.name}`, { kind: 'answer', status: 500, body: '' })
    await expect(reader().open(envelope, { allowUnverified: true })).rejects.toMatchObject({ name: 'AnswerError' })
  })

  test('a changed key is refused, also in a later process with the same store', async () => {
    const store = createMemoryStore()
    const envelope = await carol.compose({ to: bob.name, body: 1 })
    await reader({ store }).lookup(alice.name)
    for (const client of [reader({ store }), reader({ store })]) {
      await lieAbout(alice.name)
      await expect(client.lookup(alice.name)).rejects.toMatchObject({ reason: 'key_changed' })
      // The pin is believed, not the service.
      const forged = { ...envelope, from: address() }
      expect(await verdictOf(client, forged)).toBe('invalid_signature')
      expect(await client.resolve(alice.name)).toMatchObject({ agentId: id() })
    }
  })

  test('two look-ups at the same time pin one key', async () => {
    await lieAbout(alice.name)
    const client = reader({ store: createMemoryStore() })
    const outcomes = await Promise.allSettled([client.lookup(alice.name), client.lookup(alice.name)])
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  })

  test('a pin that could not be stored is stored at the next look-up', async () => {
    const kept = createMemoryStore()
    let isFull = true
    const set = async (key: string, value: string): Promise<void> => {
      if (isFull) throw new StoreError('no space left on device')
      await kept.set(key, value)
    }
    const store = { ...kept, set }
    const client = reader({ store })
    await expect(client.resolve(alice.name)).rejects.toThrow('no space left')
    isFull = false
    await client.resolve(alice.name)
    await lieAbout(alice.name)
    await expect(reader({ store }).lookup(alice.name)).rejects.toMatchObject({ reason: 'key_changed' })
  })

  test('a key that was told another way can be pinned to its name, and the service cannot give another one', async () => {
    const client = reader()
    expect(await client.pin(alice.name, key())).toMatchObject({ agentId: id(), name: alice.name })
    const before = lookups()
    expect(await verdictOf(client, await alice.compose({ to: bob.name, body: 1 }))).toBe('verified, from alice')
    expect(lookups()).toBe(before)
    await expect(client.pin(alice.name, carol.key.pubkey)).rejects.toMatchObject({ reason: 'key_changed' })
    await expect(client.pin('Alice', key())).rejects.toThrow(TypeError)
    await expect(client.pin('Alice', id())).rejects.toThrow(TypeError)
  })

  test('an agent id that was told another way can be pinned, and every other key of the name is refused', async () => {
    const client = reader()
    expect(await client.pin(alice.name, id())).toEqual({ agentId: id(), name: alice.name, pubkey: key() })
    expect(await verdictOf(client, await alice.compose({ to: bob.name, body: 1 }))).toBe('verified, from alice')
    await expect(client.pin(alice.name, carol.key.agentId)).rejects.toMatchObject({ reason: 'key_changed' })
  })

  test('a pinned id holds even if its key was never seen, also in a later process with the same store', async () => {
    const store = createMemoryStore()
    const forged = { ...(await carol.compose({ to: bob.name, body: 1 })), from: address() }
    await lieAbout(alice.name)
    await expect(reader({ store }).pin(alice.name, id())).rejects.toMatchObject({ reason: 'key_changed' })
    await lieAbout(alice.name)
    const later = reader({ store })
    expect(await verdictOf(later, forged)).toBe('key_changed')
    expect(await verdictOf(later, forged, { sender: carol.key.pubkey })).toBe('wrong_key')
    await expect(later.pin(alice.name, carol.key.pubkey)).rejects.toMatchObject({ reason: 'key_changed' })
    expect(await verdictOf(later, await alice.compose({ to: bob.name, body: 1 }))).toBe('verified, from alice')
  })
})

test('a name is known for an id once it was looked up, also in a later process with the same store', async () => {
  const store = createMemoryStore()
  const first = reader({ store })
  expect(await first.nameOf(alice.key.agentId)).toBeUndefined()
  await expect(first.resolve(alice.key.agentId)).rejects.toMatchObject({ reason: 'unknown_sender' })
  await first.lookup(alice.name)
  const before = lookups()
  const second = reader({ store })
  expect(await second.nameOf(alice.key.agentId)).toBe(alice.name)
  expect(await second.resolve(alice.key.agentId)).toMatchObject({ name: alice.name })
  expect(lookups()).toBe(before)
  // A store that is damaged so that an id has a name of another key.
  await store.set(`name/${carol.key.agentId}`, alice.name)
  expect(await reader({ store }).nameOf(carol.key.agentId)).toBeUndefined()
  expect(await reader({ store }).nameOf(generateKey().agentId)).toBeUndefined()
})
