import type { Envelope } from '@svc/contracts/resources.ts'
import { VerificationError } from '@svc/sdk/errors.ts'
import { generateKey } from '@svc/sdk/keys.ts'
import { anyCodePoint } from '@svc/test/support/any-text.ts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { clientOf } from './agents.ts'

const NOWHERE = { url: 'http://127.0.0.1:9' }

function agent(name: string) {
  const key = generateKey()
  return { key, client: clientOf(NOWHERE, { key, authority: 'agents.example', name }) }
}

async function exchange(body: unknown, seal: boolean) {
  const [alice, bob] = [agent('alice'), agent('bob')]
  const sealFor = seal ? bob.key.pubkey : false
  const sent = await alice.client.compose({ to: 'bob', body }, { seal: sealFor })
  return { alice, bob, envelope: JSON.parse(JSON.stringify(sent)) as Envelope }
}

const ways = [
  ['signed', false],
  ['sealed', true],
] as const

describe.each(ways)('spec 6.3, 6.4, 13.5: a %s envelope', (_, seal) => {
  test("can be opened with the sender's key, for any body", async () => {
    const [alice, bob] = [agent('alice'), agent('bob')]
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ stringUnit: anyCodePoint }), async (value) => {
        const body: unknown = JSON.parse(JSON.stringify(value))
        const text = JSON.stringify(body)
        // A value that is not I-JSON is refused before it is signed (spec 2.5).
        if (!text.isWellFormed() || /\\ud[89a-f]|"__proto__":/.test(text)) return
        const sent = await alice.client.compose({ to: 'bob', body }, { seal: seal ? bob.key.pubkey : false })
        const received = JSON.parse(JSON.stringify(sent)) as Envelope
        const opened = await bob.client.open(received, { sender: alice.key.pubkey })
        expect(opened).toEqual({
          body,
          sealed: seal,
          verified: true,
          sender: { agentId: alice.key.agentId, name: undefined },
        })
      }),
      { numRuns: 25 },
    )
  })

  test('cannot be verified without a key of the sender', async () => {
    const { alice, bob, envelope } = await exchange('x', seal)
    await expect(bob.client.open(envelope)).rejects.toMatchObject({ reason: 'unknown_sender' })
    expect(await bob.client.open(envelope, { allowUnverified: true })).toEqual({
      body: 'x',
      sealed: seal,
      verified: false,
    })
    expect(bob.client.trust(alice.key.pubkey)).toBe(alice.key.agentId)
    expect(await bob.client.open(envelope)).toMatchObject({ verified: true })
  })

  test('is refused if the given key belongs to another agent', async () => {
    const { bob, envelope } = await exchange('x', seal)
    const mallory = generateKey()
    const options = { sender: mallory.pubkey, allowUnverified: true }
    await expect(bob.client.open(envelope, options)).rejects.toMatchObject({ reason: 'wrong_key' })
  })

  test('is not looked up by agent id, because the service finds keys only by name', async () => {
    const { alice, bob, envelope } = await exchange('x', seal)
    await expect(bob.client.open(envelope, { sender: alice.key.agentId })).rejects.toThrow(
      'give the name or the public key',
    )
  })

  test('does not verify if any member was altered', async () => {
    const { alice, bob, envelope } = await exchange('x', seal)
    const changes: Record<string, unknown> = {
      id: 'another-id',
      to: 'carol@agents.example',
      type: 'error',
      ts: '2026-01-01T00:00:00Z',
      ttl: 5,
      reply_to: 'another-id',
      thread_id: 'another-id',
      ...(seal ? {} : { body: 'y' }),
    }
    for (const [name, value] of Object.entries(changes)) {
      const altered = { ...envelope, [name]: value } as Envelope
      const options = { sender: alice.key.pubkey, allowUnverified: true }
      const reason = seal ? 'cannot_open' : 'invalid_signature'
      await expect(bob.client.open(altered, options), name).rejects.toMatchObject({ reason })
    }
  })

  test('does not verify if `from` names another sender', async () => {
    const { bob, envelope } = await exchange('x', seal)
    const mallory = generateKey()
    const stolen = { ...envelope, from: mallory.agentId }
    await expect(bob.client.open(stolen, { sender: mallory.pubkey })).rejects.toThrow(VerificationError)
  })
})

test('only the recipient can open a sealed envelope', async () => {
  const { alice, envelope } = await exchange('x', true)
  const carol = agent('carol')
  const options = { sender: alice.key.pubkey, allowUnverified: true }
  await expect(carol.client.open(envelope, options)).rejects.toMatchObject({ reason: 'cannot_open' })
  await expect(alice.client.open(envelope, options)).rejects.toMatchObject({ reason: 'cannot_open' })
  const keyless = clientOf(NOWHERE)
  await expect(keyless.open(envelope, options)).rejects.toThrow(TypeError)
})

test('an envelope sealed without the sender’s key is refused, even with allowUnverified', async () => {
  const { alice, bob } = await exchange('x', true)
  const mallory = agent('mallory')
  // Mallory seals in alice's name. Anybody can, because HPKE's base mode does not authenticate the sender.
  const { decryptEnvelope, sealEnvelope } = await import('@svc/envelope/seal.ts')
  const forged = await sealEnvelope(
    {
      id: 'forged-id',
      from: alice.key.agentId,
      to: 'bob@agents.example',
      type: 'event',
      ts: '2026-01-01T00:00:00Z',
      body: 'pay',
    },
    bob.key.publicKey,
    mallory.key.secretKey,
  )
  expect(await decryptEnvelope(forged, bob.key.secretKey)).toMatchObject({ body: 'pay' })
  const options = { sender: alice.key.pubkey, allowUnverified: true }
  await expect(bob.client.open(forged, options)).rejects.toMatchObject({ reason: 'invalid_signature' })
})

test.each(['ed25519:00', 'rsa:00', `ed25519:01${'00'.repeat(31)}`])(
  'spec 2.2: the invalid key %s is neither trusted nor sealed for',
  async (pubkey) => {
    const { client } = agent('alice')
    expect(() => client.trust(pubkey)).toThrow(TypeError)
    await expect(client.compose({ to: 'bob', body: 1 }, { seal: pubkey })).rejects.toThrow(TypeError)
  },
)
