/** Compares the code with docs/vectors, and the worked examples of the specification with the same files. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { costUnits } from '@svc/contracts/price.ts'
import type { SealedEnvelope, SignedEnvelope } from '@svc/envelope/envelope.ts'
import { parseIJson } from '@svc/envelope/i-json.ts'
import { jcsBytes } from '@svc/envelope/jcs.ts'
import { decryptEnvelope, openEnvelope, SealError } from '@svc/envelope/seal.ts'
import { signEnvelope, verifyEnvelope } from '@svc/envelope/sign-envelope.ts'
import { bodySize } from '@svc/envelope/size.ts'
import { verifyWebhook } from '@svc/sdk'
import { agentIdOf } from '@svc/svc1/agent-id.ts'
import { createKeyPair } from '@svc/svc1/key-pair.ts'
import { importPublicKey, verifyRequestNode } from '@svc/svc1/node/verify-node.ts'
import { checkWork, leadingZeroBits } from '@svc/svc1/pow.ts'
import { formatPublicKey, isPublicKey } from '@svc/svc1/public-key.ts'
import { signRequest } from '@svc/svc1/sign.ts'
import { verifySignature } from '@svc/svc1/verify.ts'
import { readVectors as read } from '@svc/test/support/vectors.ts'
import { describe, expect, test } from 'vitest'

const ROOT = new URL('../../', import.meta.url)

function textOf(path: string): string {
  return readFileSync(new URL(path, ROOT), 'utf8')
}

function hex(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text, 'hex'))
}

function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex')
}

function canonical(value: unknown): string {
  return Buffer.from(jcsBytes(value)).toString()
}

interface AgentIds {
  agents: { secret_key: string; public_key: string; pubkey: string; public_key_sha256: string; agent_id: string }[]
  refused_public_keys: { about: string; public_key: string }[]
}
const ids = read<AgentIds>('agent-ids.json')

test.each(ids.agents)('spec 2.2, 2.3, 14.1: $agent_id', (row) => {
  const key = createKeyPair(hex(row.secret_key))
  expect(Buffer.from(key.publicKey).toString('hex')).toBe(row.public_key)
  expect(formatPublicKey(key.publicKey)).toBe(row.pubkey)
  expect(sha256(key.publicKey)).toBe(row.public_key_sha256)
  expect(key.agentId).toBe(row.agent_id)
  expect(isPublicKey(key.publicKey)).toBe(true)
})

test.each(ids.refused_public_keys)('spec 2.2: no public key: $about', ({ public_key }) => {
  expect(isPublicKey(hex(public_key))).toBe(false)
})

interface Requests {
  authority: string
  requests: {
    name: string
    secret_key: string
    method: string
    target: string
    timestamp: string
    nonce: string
    body: string
    body_sha256: string
    signed_string: string
    headers: Record<string, string>
  }[]
}
const requests = read<Requests>('requests.json')

test.each(requests.requests)('spec 3.2, 3.3, 14.3: $name', (row) => {
  const { method, target, timestamp, nonce, body, body_sha256 } = row
  expect(sha256(body)).toBe(body_sha256)
  const lines = ['SVC1', requests.authority, method, target, timestamp, nonce, body_sha256]
  expect(row.signed_string).toBe(lines.join('\n'))
  const signed = {
    authority: requests.authority,
    method,
    target,
    timestamp: Number(timestamp),
    nonce,
    body: body === '' ? undefined : Buffer.from(body),
  }
  expect(signRequest(createKeyPair(hex(row.secret_key)), signed)).toEqual(row.headers)
})

interface Signatures {
  cases: { about: string; public_key: string; message: string; signature: string; valid: boolean }[]
}

test.each(read<Signatures>('signatures.json').cases)('spec 3.4: $about: $valid', (row) => {
  const [signature, message, key] = [hex(row.signature), hex(row.message), hex(row.public_key)]
  expect(verifySignature(signature, message, key)).toBe(row.valid)
  expect(isPublicKey(key) && verifyRequestNode(signature, message, importPublicKey(key))).toBe(row.valid)
})

interface Proofs {
  proofs: {
    challenge: string
    nonce: string
    difficulty: number
    hashed: string
    sha256: string
    leading_zero_bits: number
    valid: boolean
  }[]
}

test.each(read<Proofs>('proofs-of-work.json').proofs)(
  'spec 5.5, 14.2: $nonce at difficulty $difficulty: $valid',
  ({ challenge, nonce, difficulty, hashed, valid, ...row }) => {
    expect(hashed).toBe(`${challenge}:${nonce}`)
    expect(sha256(hashed)).toBe(row.sha256)
    expect(leadingZeroBits(hex(row.sha256))).toBe(row.leading_zero_bits)
    expect(checkWork(challenge, nonce, difficulty)).toBe(valid)
  },
)

interface JsonTexts {
  cases: {
    sent: string
    canonical: string
    stored: string
    bytes: number
    code_points: number
    units_dm: number
    units_post_for_7: number
  }[]
  prices: { payload_bytes: number; recipients: number; units: number }[]
}
const json = read<JsonTexts>('json.json')

test.each(json.cases)('spec 2.6, 6.5, 6.6, 11.2: $sent', (row) => {
  const { value, text } = parseIJson(Buffer.from(row.sent))
  expect(text).toBe(row.stored)
  expect(canonical(value)).toBe(row.canonical)
  expect(bodySize(value)).toEqual({ bytes: row.bytes, characters: row.code_points })
  expect([costUnits(row.bytes, 1), costUnits(row.bytes, 7)]).toEqual([row.units_dm, row.units_post_for_7])
})

test.each(json.prices)('spec 11.2: $payload_bytes bytes for $recipients cost $units', (row) => {
  expect(costUnits(row.payload_bytes, row.recipients)).toBe(row.units)
})

interface Party {
  secret_key: string
  public_key: string
  agent_id: string
}
interface SignedRow {
  signed_bytes: string
  signature: string
  envelope: SignedEnvelope
  envelope_sha256: string
}
interface SealedRow {
  inner_signed_bytes: string
  inner_sig: string
  aad: string
  plaintext: string
  ciphertext: string
  enc: string
  envelope: SealedEnvelope
  envelope_sha256: string
}
interface Envelopes {
  sender: Party
  recipient: Party
  signed: SignedRow
  sealed: SealedRow
  signed_by_address: SignedRow
  sealed_by_address: SealedRow
}
const envelopes = read<Envelopes>('envelopes.json')
const { sender, recipient, signed, sealed } = envelopes
const { signed_by_address: signedByAddress, sealed_by_address: sealedByAddress } = envelopes

test.each([
  ['an agent id', sender.agent_id, signed],
  ['an address', 'alice@messages.example', signedByAddress],
])('spec 6.2, 6.3, 14.4: the signed envelope with %s in from', (_, from, signed) => {
  expect(signed.envelope.from).toBe(from)
  const { sig, ...unsigned } = signed.envelope
  expect(canonical(unsigned)).toBe(signed.signed_bytes)
  expect(signEnvelope(unsigned, hex(sender.secret_key))).toEqual(signed.envelope)
  expect(Buffer.from(sig, 'base64').toString('hex')).toBe(signed.signature)
  expect(verifyEnvelope(signed.envelope, hex(sender.public_key))).toBe(true)
  expect(sha256(jcsBytes(signed.envelope))).toBe(signed.envelope_sha256)
})

// libs/envelope/test/hpke.test.ts compares the intermediate values of HPKE with a second implementation.
test.each([
  ['an agent id', sender.agent_id, sealed],
  ['an address', 'alice@messages.example', sealedByAddress],
])('spec 6.2, 6.4, 14.5: the sealed envelope with %s in from opens to the signed one', async (_, from, sealed) => {
  expect(sealed.envelope.from).toBe(from)
  const { body_enc, ...outer } = sealed.envelope
  expect(canonical(outer)).toBe(sealed.aad)
  expect(Buffer.from(body_enc, 'base64').toString('hex')).toBe(sealed.ciphertext)
  expect(Buffer.from(outer.ephemeral_pub, 'base64').toString('hex')).toBe(sealed.enc)
  const opened = await openEnvelope(sealed.envelope, hex(recipient.secret_key), hex(sender.public_key))
  const { sig, ...unsigned } = opened
  expect(sig).toBe(sealed.inner_sig)
  expect(canonical(unsigned)).toBe(sealed.inner_signed_bytes)
  expect(canonical({ body: opened.body, sig })).toBe(sealed.plaintext)
  expect(sha256(jcsBytes(sealed.envelope))).toBe(sealed.envelope_sha256)
})

interface Verdicts {
  authority: string
  agents: (Party & { name: string })[]
  cases: {
    about: string
    reader: string
    read_from: string
    sender_public_key?: string
    envelope: SignedEnvelope | SealedEnvelope
    verdict: string
  }[]
}
type Case = Verdicts['cases'][number]
const verdicts = read<Verdicts>('verdicts.json')

test.each(verdicts.cases)('spec 13.5: $about: $verdict', async (row) => {
  expect(await verdictOn(row)).toBe(row.verdict)
})

/** The rule in its own words, so that the vectors are right whatever a client of ours does. */
async function verdictOn({ reader, read_from, envelope, sender_public_key, verdict: _ }: Case): Promise<string> {
  const partyOf = (is: (party: Verdicts['agents'][number]) => boolean) => verdicts.agents.find(is)
  const sender = partyOf(({ name, agent_id }) =>
    [agent_id, `${name}@${verdicts.authority}`].includes(spelled(envelope.from)),
  )
  if (sender === undefined) return 'unknown_sender'
  const key = hex(sender_public_key ?? sender.public_key)
  const own = hex(partyOf(({ name }) => name === reader)?.secret_key ?? '')
  const signed = 'sig' in envelope ? envelope : await decryptEnvelope(envelope, own).catch(unlessSealed)
  if (signed === undefined) return 'cannot_open'
  if (agentIdOf(key) !== sender.agent_id || !verifyEnvelope(signed, key)) return 'bad_signature'
  const place = read_from === 'inbox' ? `${reader}@${verdicts.authority}` : read_from
  return spelled(envelope.to) === place ? 'verified' : 'addressed_to_another'
}

/** The case of an authority means nothing, and names and boards are in lower case. An agent id keeps its case. */
function spelled(place: string): string {
  return place.includes('@') ? place.toLowerCase() : place
}

function unlessSealed(error: unknown): undefined {
  if (!(error instanceof SealError)) throw error
}

interface Deliveries {
  deliveries: {
    about: string
    secret: string
    timestamp: string
    message_id: string
    delivery_id: string
    body: string
    signature: string
    standard_webhooks: Record<string, string> | null
  }[]
}
const { deliveries } = read<Deliveries>('webhook-signatures.json')

test.each(deliveries)('spec 10.5, 10.8, 10.9, 14.6: the delivery of $message_id at $timestamp', async (row) => {
  const headers = {
    'content-type': 'application/json',
    'x-svc-timestamp': row.timestamp,
    'x-svc-message-id': row.message_id,
    'x-svc-delivery-id': 'any',
    'x-svc-signature': row.signature,
  }
  const options = { secret: row.secret, nowMs: () => Number(row.timestamp) * 1_000 }
  expect((await verifyWebhook(headers, Buffer.from(row.body), options)).messageId).toBe(row.message_id)
  const changed = { ...headers, 'x-svc-timestamp': `${Number(row.timestamp) + 1}` }
  await expect(async () => verifyWebhook(changed, Buffer.from(row.body), options)).rejects.toThrow()
  if (row.standard_webhooks === null) return
  const standard = await verifyWebhook(row.standard_webhooks, Buffer.from(row.body), options)
  expect(standard).toMatchObject({ messageId: row.message_id, deliveryId: row.delivery_id })
})

describe('the worked examples have the values of the vectors', () => {
  const examples = textOf('docs/specification/14-examples.md').replaceAll(/\s+/g, '')
  const request = requests.requests[1]
  test.each([
    ['14.1', ids.agents[0]?.agent_id],
    ['14.2', read<Proofs>('proofs-of-work.json').proofs[2]?.sha256],
    ['14.3', request?.signed_string],
    ['14.3', request?.headers.authorization],
    ['14.4', signed.signed_bytes],
    ['14.4', JSON.stringify(signed.envelope)],
    ['14.4', signedByAddress.signed_bytes],
    ['14.4', JSON.stringify(signedByAddress.envelope)],
    ['14.5', sealed.ciphertext],
    ['14.5', JSON.stringify(sealed.envelope)],
    ['14.6', deliveries[0]?.signature],
  ])('spec %s: %s', (_, value) => {
    expect(examples).toContain(value?.replaceAll(/\s+/g, ''))
  })
})
