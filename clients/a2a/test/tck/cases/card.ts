import { createPublicKey, verify } from 'node:crypto'
import { AgentCard } from '@a2a-js/sdk'
import { jcs } from '@svc/envelope/jcs.ts'
import { generateKey } from '@svc/sdk/keys.ts'
import { expect } from 'vitest'
import { signedCard, verifiedCard } from '../../../src/card.ts'
import type { Json } from '../bindings.ts'
import type { Case } from '../case.ts'
import { misfits } from '../shapes.ts'
import type { World } from '../world.ts'

const ADDRESS = 'bob@example.com'
const CARD = AgentCard.fromJSON({
  name: 'Bob',
  description: 'an agent',
  version: '1',
  capabilities: { streaming: true },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
})

/** The card does not depend on the binding. */
const once = 'JSON-RPC'

export const CARD_CASES: readonly Case[] = [
  {
    ids: ['CARD-DISC-001'],
    title: "a contact's card is below its endpoint",
    binding: once,
    async run(_, world) {
      const response = await world.cardOf(world.bob)
      expect(response.status).toBe(200)
      expect(response.headers.get('content-type')).toContain('application/json')
    },
  },
  {
    ids: ['CARD-STRUCT-001'],
    title: 'the card has the fields of A2A, and no others',
    binding: once,
    async run(_, world) {
      expect(misfits('AgentCard', await readCard(world))).toEqual([])
    },
  },
  {
    ids: ['CARD-PROTO-001', 'CARD-PROTO-002', 'BIND-FIELD-001'],
    title: 'the card names both bindings, and each is where it says',
    binding: once,
    async run(_, world) {
      const interfaces = (await readCard(world)).supportedInterfaces as Json[]
      expect(interfaces.flatMap((one) => misfits('AgentInterface', one))).toEqual([])
      expect(interfaces.map(({ protocolBinding, protocolVersion }) => [protocolBinding, protocolVersion])).toEqual([
        ['JSONRPC', '1.0'],
        ['HTTP+JSON', '1.0'],
      ])
      expect(interfaces.map(({ url }) => url)).toEqual([
        `${world.url}/${world.bob}/rpc`,
        `${world.url}/${world.bob}/rest`,
      ])
    },
  },
  {
    ids: ['CARD-CACHE-001', 'CARD-CACHE-002'],
    title: 'the card says how long it may be cached, and an unchanged card has the same ETag',
    binding: once,
    async run(_, world) {
      const { headers } = await world.cardOf(world.bob)
      expect(headers.get('cache-control')).toMatch(/max-age=\d+/)
      expect(headers.get('etag')).toMatch(/./)
      expect((await world.cardOf(world.bob)).headers.get('etag')).toBe(headers.get('etag'))
    },
  },
  {
    ids: ['CARD-SIGN-001', 'CARD-SIGN-002', 'CARD-SIGN-003'],
    title: 'the card that a contact sends is signed over its canonical form, without the signatures',
    binding: once,
    async run() {
      const key = generateKey()
      const { signatures, ...card } = await signedCard(CARD, ADDRESS, key)
      const [{ protected: header, signature }] = signatures as [{ protected: string; signature: string }]
      expect(JSON.parse(Buffer.from(header, 'base64url').toString())).toMatchObject({ alg: 'EdDSA', kid: key.agentId })
      const jwk = { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(key.publicKey).toString('base64url') }
      const signed = `${header}.${Buffer.from(jcs(card)).toString('base64url')}`
      const publicKey = createPublicKey({ key: jwk, format: 'jwk' })
      expect(verify(null, Buffer.from(signed), publicKey, Buffer.from(signature, 'base64url'))).toBe(true)
    },
  },
  {
    ids: ['CARD-SIGN-004'],
    title: 'a card is verified only with the key that the contact has now',
    binding: once,
    async run() {
      const [now, before] = [generateKey(), generateKey()]
      await verifiedCard(await signedCard(CARD, ADDRESS, now), ADDRESS, now.publicKey)
      const old = await signedCard(CARD, ADDRESS, before)
      await expect(verifiedCard(old, ADDRESS, now.publicKey)).rejects.toThrow()
    },
  },
]

async function readCard(world: World): Promise<Json> {
  return (await (await world.cardOf(world.bob)).json()) as Json
}
