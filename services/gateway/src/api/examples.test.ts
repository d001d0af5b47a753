import { FormatRegistry } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { SealedEnvelope, SignedEnvelope } from '@svc/envelope/envelope.ts'
import { readEnvelope } from '@svc/envelope/envelope.ts'
import { openEnvelope } from '@svc/envelope/seal.ts'
import { verifyEnvelope } from '@svc/envelope/sign-envelope.ts'
import { createKeyPair } from '@svc/svc1/key-pair.ts'
import { formatPublicKey } from '@svc/svc1/public-key.ts'
import { describe, expect, test } from 'vitest'
import { createOperations } from '../service.ts'
import { EXAMPLES } from './examples.ts'
import type { Operation } from './operation.ts'

FormatRegistry.Set('date-time', (text) => !Number.isNaN(Date.parse(text)))

// The test reads only the declarations and makes no calls.
const operations: Operation[] = createOperations({ manifest: EXAMPLES.manifest } as Parameters<
  typeof createOperations
>[0])
const alice = createKeyPair(new Uint8Array(32).fill(1))
const bob = createKeyPair(new Uint8Array(32).fill(2))

describe('examples of the OpenAPI description', () => {
  const bodies = operations.flatMap(({ id, body }) =>
    Object.entries(body?.examples ?? {}).map(([name, example]) => [`${id}, ${name}`, body?.schema, example] as const),
  )
  const answers = operations.flatMap(({ id, responses }) =>
    Object.entries(responses).map(([status, { schema, example }]) => [`${id}, ${status}`, schema, example] as const),
  )
  test.each([...bodies, ...answers])('%s fits its schema', (_, schema, example) => {
    if (schema === undefined) expect(example).toBeUndefined()
    else expect([...Value.Errors(schema, example)]).toEqual([])
  })

  test('alice and bob are who they say, and their envelopes are signed and sealed', async () => {
    expect(EXAMPLES.agent).toMatchObject({ agent_id: alice.agentId, pubkey: formatPublicKey(alice.publicKey) })
    expect(EXAMPLES.contactList.contacts[0].agent_id).toBe(bob.agentId)
    const signed = EXAMPLES.signedEnvelope as SignedEnvelope
    expect(verifyEnvelope(signed, alice.publicKey)).toBe(true)
    const posted = EXAMPLES.postList.messages[0].envelope as SignedEnvelope
    expect(verifyEnvelope(posted, alice.publicKey)).toBe(true)
    const sealed = EXAMPLES.sealedEnvelope as SealedEnvelope
    expect(await openEnvelope(sealed, bob.secretKey, alice.publicKey)).toMatchObject({ body: { text: 'hello' } })
    const [name, authority] = EXAMPLES.identity.address.split('@')
    for (const envelope of [signed, posted, sealed]) {
      expect(readEnvelope(envelope).from).toEqual({ kind: 'agent', name, authority })
    }
  })
})
