import type { Envelope } from '@svc/contracts/resources.ts'
import type { JsonValue } from '@svc/envelope/json-value.ts'
import { VerificationError } from '@svc/sdk/errors.ts'
import { generateKey } from '@svc/sdk/keys.ts'
import { composeEnvelope } from '@svc/sdk/messages/compose.ts'
import { anyCodePoint } from '@svc/test/support/any-text.ts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { clientOf } from './agents.ts'

const NOWHERE = { url: 'http://127.0.0.1:9' }
const AUTHORITY = 'agents.example'

/** A client whose service knows no names. */
function agent(name: string) {
  const key = generateKey()
  const error = { error: { code: 'not_found', message: 'not found' } }
  const fetch = async (): Promise<Response> => Response.json(error, { status: 404 })
  return { name, key, client: clientOf(NOWHERE, { key, authority: AUTHORITY, name, fetch }) }
}

type Names = 'address' | 'id'

/** An envelope from alice to bob, as bob receives it. */
async function exchange(body: JsonValue, seal: boolean, names: Names = 'address') {
  const [alice, bob] = [agent('alice'), agent('bob')]
  const envelope = await composeEnvelope(
    { to: 'bob' },
    {
      key: alice.key,
      body,
      from: names === 'id' ? alice.key.agentId : `alice@${AUTHORITY}`,
      address: `bob@${AUTHORITY}`,
      nowMs: Date.now(),
      sealFor: seal ? bob.key.publicKey : undefined,
    },
  )
  return { alice, bob, envelope: JSON.parse(JSON.stringify(envelope)) as Envelope }
}

const ways = [
  ['signed', 'address', false],
  ['sealed', 'address', true],
  ['signed', 'id', false],
  ['sealed', 'id', true],
] as const

describe.each(ways)('spec 6.3, 6.4, 13.5: a %s envelope whose sender is named by %s', (_, names, seal) => {
  test("can be opened with the sender's key, for any body", async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ stringUnit: anyCodePoint }), async (value) => {
        const body: unknown = JSON.parse(JSON.stringify(value))
        const text = JSON.stringify(body)
        // A value that is not I-JSON is refused before it is signed (spec 2.5).
        if (!text.isWellFormed() || /\\ud[89a-f]|"__proto__":|[-\d]\d{15}/.test(text)) return
        const { alice, bob, envelope } = await exchange(body as JsonValue, seal, names)
        const sender = { agentId: alice.key.agentId, name: undefined }
        const opened = await bob.client.open(envelope, { sender: alice.key.pubkey })
        expect(opened).toEqual({ body, sealed: seal, verified: true, sender })
      }),
      { numRuns: 25 },
    )
  })

  test('cannot be verified without a key of the sender', async () => {
    const { alice, bob, envelope } = await exchange('x', seal, names)
    await expect(bob.client.open(envelope)).rejects.toMatchObject({ reason: 'unknown_sender' })
    expect(await bob.client.open(envelope, { allowUnverified: true })).toEqual({
      body: 'x',
      sealed: seal,
      verified: false,
      sender: names === 'id' ? { agentId: alice.key.agentId, name: undefined } : undefined,
    })
    // A key that was seen is enough for its own id. Nothing says that it belongs to a name.
    expect(bob.client.trust(alice.key.pubkey)).toBe(alice.key.agentId)
    if (names === 'id') expect(await bob.client.open(envelope)).toMatchObject({ verified: true })
    else await expect(bob.client.open(envelope)).rejects.toMatchObject({ reason: 'unknown_sender' })
  })

  test('is refused if the given key belongs to another agent', async () => {
    const { bob, envelope } = await exchange('x', seal, names)
    const mallory = generateKey()
    const options = { sender: mallory.pubkey, allowUnverified: true }
    const reason = names === 'id' ? 'wrong_key' : 'invalid_signature'
    await expect(bob.client.open(envelope, options)).rejects.toMatchObject({ reason })
  })

  test('is not looked up by agent id, because the service finds keys only by name', async () => {
    const { alice, bob, envelope } = await exchange('x', seal, names)
    await expect(bob.client.open(envelope, { sender: alice.key.agentId })).rejects.toThrow('the name or the public key')
  })

  test('does not verify if any member was altered', async () => {
    const { alice, bob, envelope } = await exchange('x', seal, names)
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
    const { bob, envelope } = await exchange('x', seal, names)
    const mallory = generateKey()
    for (const from of [mallory.agentId, `mallory@${AUTHORITY}`])
      await expect(bob.client.open({ ...envelope, from }, { sender: mallory.pubkey })).rejects.toThrow(
        VerificationError,
      )
  })
})

test('only the recipient can open a sealed envelope', async () => {
  const { alice, envelope } = await exchange('x', true)
  const carol = agent('carol')
  const options = { sender: alice.key.pubkey, allowUnverified: true }
  await expect(carol.client.open(envelope, options)).rejects.toMatchObject({ reason: 'cannot_open' })
  await expect(alice.client.open(envelope, options)).rejects.toMatchObject({ reason: 'cannot_open' })
  const keyless = clientOf(NOWHERE, { authority: AUTHORITY })
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
