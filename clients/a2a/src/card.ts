import { AgentCard, generateAgentCardSignature, verifyAgentCardSignature } from '@a2a-js/sdk'
import type { AgentKey } from '@svc/sdk/keys.ts'
import type { Json } from './wire.ts'

/** How cards name this way to an agent: `svc:<name>@<authority>`. */
const BINDING = 'SVC1'
const VERSION = '1.0'
/** The card of the local agent, as others get it: it names the agent's address instead of loopback, and is signed with its key. */
export async function signedCard(card: AgentCard, address: string, key: AgentKey): Promise<Json> {
  const own: AgentCard = {
    ...card,
    supportedInterfaces: [{ url: `svc:${address}`, protocolBinding: BINDING, protocolVersion: VERSION, tenant: '' }],
    securitySchemes: {},
    securityRequirements: [],
    signatures: [],
  }
  const jwk = { ...jwkOf(key.publicKey), d: base64url(key.secretKey) }
  const sign = generateAgentCardSignature(jwk, { alg: 'EdDSA', kid: key.agentId, typ: 'JOSE' })
  return AgentCard.toJSON(await sign(own)) as Json
}

/**
 * The card that an agent has sent.
 * @param pubkey the agent's key, 32 bytes.
 * @throws Error if the agent has not signed it, or it is for another address.
 */
export async function verifiedCard(json: Json, address: string, pubkey: Uint8Array): Promise<AgentCard> {
  const card = AgentCard.fromJSON(json)
  if (card.signatures.length !== 1) throw new Error(`the card has ${card.signatures.length} signatures`)
  await verifyAgentCardSignature(async () => jwkOf(pubkey))(card)
  if (!card.supportedInterfaces.some(({ url }) => url === `svc:${address}`))
    throw new Error(`the card is not for ${address}`)
  return card
}

/**
 * The card of a contact, as local clients get it: it leads to this sidecar. Nothing in it that names another host is followed.
 * @param card undefined if the contact has not sent one yet.
 */
export function localCard(card: AgentCard | undefined, name: string, base: string): AgentCard {
  const found: AgentCard = card ?? {
    ...AgentCard.fromJSON({}),
    name,
    description: `${name}, reached by signed messages. Its own card has not arrived yet.`,
    version: '0',
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
  }
  return {
    ...found,
    supportedInterfaces: [
      { url: `${base}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: VERSION, tenant: '' },
      { url: `${base}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: VERSION, tenant: '' },
    ],
    capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: false, extensions: [] },
    securitySchemes: {
      token: {
        scheme: { $case: 'httpAuthSecurityScheme', value: { scheme: 'Bearer', bearerFormat: '', description: '' } },
      },
    },
    securityRequirements: [{ schemes: { token: { list: [] } } }],
    signatures: [],
  }
}

function jwkOf(publicKey: Uint8Array): { kty: string; crv: string; x: string } {
  return { kty: 'OKP', crv: 'Ed25519', x: base64url(publicKey) }
}

function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url')
}
