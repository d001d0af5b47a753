import { readFileSync } from 'node:fs'
import type { Envelope } from '@svc/contracts/resources.ts'
import { AnswerError, VerificationError } from '@svc/sdk/errors.ts'
import { keyFromSeed } from '@svc/sdk/keys.ts'
import { expect, test } from 'vitest'
import { clientOf, registered, startService } from './agents.ts'

const NOWHERE = { url: 'http://127.0.0.1:9' }

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
  readFileSync(new URL('../../../docs/vectors/verdicts.json', import.meta.url), 'utf8'),
) as Verdicts

test.each(cases)('spec 13.5: $about: $verdict', async ({ reader, read_from, sender_public_key, envelope, verdict }) => {
  const own = agents.find(({ name }) => name === reader) ?? expect.unreachable()
  const client = clientOf(NOWHERE, { key: keyFromSeed(own.secret_key), authority, name: reader, fetch: directory })
  const key = sender_public_key ?? agents.find(({ agent_id }) => agent_id === envelope.from)?.public_key
  const sender = key && `ed25519:${key}`
  const to = read_from === 'inbox' ? undefined : read_from
  expect(await verdictOf(client.open(envelope, { sender, to }))).toBe(verdict)
  const unless = verdict === 'unknown_sender' ? 'not verified' : verdict
  expect(await verdictOf(client.open(envelope, { sender, to, allowUnverified: true }))).toBe(unless)
})

/** `GET /v2/agents/{name}` of the agents of the vectors. */
const directory: typeof fetch = async (input) => {
  const { pathname } = new URL(String(input))
  const agent = agents.find(({ name }) => pathname === `/v2/agents/${name}`)
  if (agent === undefined) return Response.json({ error: { code: 'not_found', message: '' } }, { status: 404 })
  const { name, agent_id, public_key } = agent
  return Response.json({ agent_id, name, pubkey: `ed25519:${public_key}`, created_at: 1767268800, revoked: false })
}

async function verdictOf(opening: Promise<{ verified: boolean }>): Promise<string> {
  try {
    return (await opening).verified ? 'verified' : 'not verified'
  } catch (error) {
    if (!(error instanceof VerificationError)) throw error
    return ['invalid_signature', 'wrong_key'].includes(error.reason) ? 'bad_signature' : error.reason
  }
}

test('spec 13.5: the name of the reader is asked for once, if the client was not given it', async () => {
  await using service = await startService()
  const [alice, bob, carol] = await registered(service, 'alice', 'bob', 'carol')
  const envelope = await alice.compose({ to: bob.name, body: 'pay' })
  const sender = { sender: alice.key.pubkey }
  const [anew, other] = [clientOf(service, { key: bob.key }), clientOf(service, { key: carol.key })]
  const opened = await Promise.all([anew.open(envelope, sender), anew.open(envelope, sender)])
  expect(opened.map(({ verified }) => verified)).toEqual([true, true])
  expect(service.requests.filter(({ target }) => target === '/v2/me')).toHaveLength(1)
  await expect(other.open(envelope, sender)).rejects.toMatchObject({
    reason: 'addressed_to_another',
    message: `the envelope ${envelope.id} is addressed to ${bob.fullAddress}, not to ${carol.fullAddress}`,
  })
  expect(await other.open(envelope, { ...sender, to: bob.name })).toMatchObject({ verified: true })
})

test('spec 13.5: a client without a key has no address, and opens what has the address that it names', async () => {
  await using service = await startService()
  const [alice] = await registered(service, 'alice')
  const envelope = await alice.compose({ to: 'bob', body: 'pay' })
  const receiver = clientOf(service)
  await expect(receiver.open(envelope, { sender: alice.name })).rejects.toThrow('set `to` to the address')
  await expect(receiver.open(envelope, { sender: alice.name, to: 'bob@' })).rejects.toThrow('bob@ is not an address')
  expect(await receiver.open(envelope, { sender: alice.name, to: 'bob' })).toMatchObject({ verified: true })
})

test('spec 13.5: an answer with another message than the one asked for is refused', async () => {
  await using service = await startService()
  const [alice] = await registered(service, 'alice')
  const { msg_id } = await alice.send({ to: alice.name, body: 1 })
  service.tamper(msg_id, (envelope) => {
    envelope.id = 'another-message'
  })
  await expect(alice.message(msg_id)).rejects.toThrow(AnswerError)
})
