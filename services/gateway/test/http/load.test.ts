/** The gateway refuses requests beyond its capacity. */
import type { Socket } from 'node:net'
import { admitRequest, findAgent, issueChallenge, listAgents, registerAgent } from '@svc/contracts/identity.ts'
import { listInbox, sendMessage } from '@svc/contracts/messaging.ts'
import { AUTHORIZATION_HEADER, NONCE_HEADER, TIMESTAMP_HEADER } from '@svc/svc1/headers.ts'
import { createKeyPair, type KeyPair } from '@svc/svc1/key-pair.ts'
import { formatPublicKey } from '@svc/svc1/public-key.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  envelopeOf,
  type Harness,
  JSON_BODY,
  type Outgoing,
  openRaw,
  signatureOf,
  startHarness,
} from '../support/harness.ts'

const MAX_REQUESTS = 8
const MAX_OF_ONE_KIND = 6
const MAX_UNSIGNED = 2
const MAX_OF_ONE_ADDRESS = 4

let addresses = 0
/** A client address that no other request has, because one address may hold only half of the slots. */
const fromAnywhere = (): Record<string, string> => ({ 'x-forwarded-for': `198.51.100.${++addresses % 250}` })

const ME: Outgoing = { target: '/v2/me' }
const HEALTH: Outgoing = { target: '/v2/health' }

let h: Harness
type Headers = ReturnType<typeof signatureOf>
let gate: PromiseWithResolvers<void>
beforeEach(async () => {
  h = await startHarness({ SVC_MAX_REQUESTS: String(MAX_REQUESTS), SVC_TRUSTED_PROXIES: '127.0.0.1' })
  gate = Promise.withResolvers()
  h.answer(sendMessage, async ({ facts }) => {
    await gate.promise
    return { msg_id: facts.id, status: 'accepted', lane: 'inbox', duplicate: false, sender_authenticated: true }
  })
  h.answer(listInbox, async () => {
    await gate.promise
    return { meta: {}, text: '{"messages":[],"next_cursor":""}' }
  })
})
afterEach(() => h[Symbol.asyncDispose]())

test('past the limit a request is 503 at once and has no effect; reads have slots of their own, and health is always answered', async () => {
  const alice = h.register('alice')
  h.register('bob')
  const write = (): Outgoing => ({
    method: 'POST',
    target: '/v2/messages',
    headers: { ...JSON_BODY, ...fromAnywhere() },
    body: envelopeOf(alice),
  })
  const read = (): Outgoing => ({ target: '/v2/inbox', headers: fromAnywhere() })
  const writes = Array.from({ length: MAX_OF_ONE_KIND }, () => h.sendSigned(alice, write()))
  await eventually(() => h.callsTo(sendMessage).length === MAX_OF_ONE_KIND)

  // The held calls have not been answered yet, so this request is answered before them.
  const refusedWrite = write()
  const signed = { ...refusedWrite, headers: { ...refusedWrite.headers, ...signatureOf(alice, refusedWrite) } }
  const refused = await h.send(signed)
  expect(refused).toMatchObject({ status: 503, body: { error: { code: 'unavailable' } } })
  expect(refused.headers['retry-after']).toBe('1')
  expect(h.callsTo(admitRequest).length).toBe(MAX_OF_ONE_KIND)

  const reads = Array.from({ length: MAX_REQUESTS - MAX_OF_ONE_KIND }, () => h.sendSigned(alice, read()))
  await eventually(() => h.callsTo(listInbox).length === reads.length)
  expect((await h.sendSigned(alice, read())).status).toBe(503)
  expect((await h.send({ target: '/v2/health' })).status).toBe(200)

  gate.resolve()
  expect((await Promise.all(writes)).map(({ status }) => status)).toEqual(writes.map(() => 202))
  expect((await Promise.all(reads)).map(({ status }) => status)).toEqual(reads.map(() => 200))
  // Not even its nonce was consumed, so the same request succeeds now.
  expect((await h.send(signed)).status).toBe(202)
})

test.each([
  ['one client address has half of the slots; others are served, and answers make room', async (_: Socket[]) => {}],
  [
    'requests that break off give back the slots of their client address',
    async (sockets: Socket[]) => void sockets.forEach((socket) => void socket.destroy()),
  ],
])('%s', async (_, end) => {
  using connections = new DisposableStack()
  const alice = h.register('alice')
  const sockets: Socket[] = []
  const me = (address: string) => h.sendSigned(alice, { ...ME, headers: { 'x-forwarded-for': address } })
  /** Sends a request that waits for the gate. @returns whether the gateway accepted it. */
  const hold = async (): Promise<boolean> => {
    const before = h.callsTo(listInbox).length
    const connection = connections.adopt(openRaw(h.port), ({ socket }) => void socket.destroy())
    const headers = { host: 'x', 'x-forwarded-for': '192.0.2.1', ...signatureOf(alice, { target: '/v2/inbox' }) }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    connection.write(`GET /v2/inbox HTTP/1.1\r\n${lines.join('')}\r\n`)
    await eventually(() => h.callsTo(listInbox).length > before || connection.received.includes(' 503 '))
    sockets.push(connection.socket)
    return !connection.received.includes(' 503 ')
  }

  for (let round = 0; round < 2; round += 1) {
    for (let held = 0; held < MAX_OF_ONE_ADDRESS; held += 1) await eventually(hold)
    const admitted = h.callsTo(admitRequest).length
    expect(await me('192.0.2.1')).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
    expect(h.callsTo(admitRequest)).toHaveLength(admitted)
    expect(await me('192.0.2.2')).toMatchObject({ status: 200 })
    await end(sockets)
    gate.resolve()
    gate = Promise.withResolvers()
  }
})

test.each([
  ['past the bound an unsigned health check is always answered', 200, () => ({})],
  [
    'past the bound a signed health check is a read like any other',
    503,
    (alice: KeyPair) => signatureOf(alice, HEALTH),
  ],
  [
    'past the bound a health check with an invalid signature is a read like any other',
    503,
    () => ({ [AUTHORIZATION_HEADER]: 'SVC mine' }),
  ],
])('%s', async (_, status, headersOf) => {
  const alice = h.register('alice')
  const reads = Array.from({ length: MAX_OF_ONE_KIND }, () =>
    h.sendSigned(alice, { target: '/v2/inbox', headers: fromAnywhere() }),
  )
  await eventually(() => h.callsTo(listInbox).length === MAX_OF_ONE_KIND)
  expect(await h.send({ ...HEALTH, headers: headersOf(alice) })).toMatchObject({ status })
  gate.resolve()
  await Promise.all(reads)
  expect(await h.sendSigned(alice, HEALTH)).toMatchObject({ status: 200 })
})

test.each([
  ['long bodies', '"x"'.padEnd(9_000)],
  [
    'bodies with many members',
    JSON.stringify(Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`m${at}`, 0]))),
  ],
  ['bodies with deep lists', `[${Array.from({ length: 10 }, () => '['.repeat(60) + ']'.repeat(60)).join()}]`],
])('two %s are checked at a time, and small requests do not wait for them', async (_, body) => {
  const alice = h.register('alice')
  await h.sendSigned(alice, ME)
  const senders = ['bob', 'carol', 'dave'].map((name) => h.register(name))
  // A lookup stands in for the milliseconds that a large body takes, because the test can hold a lookup.
  h.answer(findAgent, async ({ agent_id }) => {
    await gate.promise
    const sender = senders.find(({ agentId }) => agentId === agent_id)
    return { agent: sender && agentOf(sender) }
  })
  const large = (): Outgoing => ({ method: 'POST', target: '/v2/messages', headers: JSON_BODY, body })
  const lookups = (): number => h.callsTo(findAgent).length
  const before = lookups()
  const answers = senders.slice(0, 2).map((sender) => h.sendSigned(sender, large()))
  await eventually(() => lookups() === before + 2)
  answers.push(...senders.slice(2).map((sender) => h.sendSigned(sender, large())))
  expect((await h.sendSigned(alice, ME)).status).toBe(200)
  expect(lookups()).toBe(before + 2)
  gate.resolve()
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(answers.map(() => 400))
  expect(lookups()).toBe(before + 3)
})

test('a client that sends slowly takes no slot', async () => {
  using slow = new DisposableStack()
  for (let at = 0; at < MAX_REQUESTS * 2; at += 1) {
    const connection = slow.adopt(openRaw(h.port), ({ socket }) => void socket.destroy())
    connection.write('POST /v2/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{')
  }
  const alice = h.register('alice')
  gate.resolve()
  expect((await h.sendSigned(alice, { target: '/v2/inbox' })).status).toBe(200)
})

test('refusals are not logged one by one', async () => {
  const alice = h.register('alice')
  const reads = Array.from({ length: MAX_OF_ONE_KIND + 5 }, () =>
    h.sendSigned(alice, { target: '/v2/inbox', headers: fromAnywhere() }),
  )
  await eventually(() => h.callsTo(listInbox).length === MAX_OF_ONE_KIND)
  const warnings = () => h.log.filter(({ level }) => Number(level) >= 40)
  // One log line for each second with refusals.
  await eventually(() => warnings().reduce((sum, { refused }) => sum + Number(refused), 0) === 5)
  expect(warnings().length).toBeLessThan(5)
  gate.resolve()
  await Promise.all(reads)
})

test('unsigned requests, and those from an address that sent invalid signatures, share a quarter; registered agents have the rest', async () => {
  const [alice, stranger] = [h.register('alice'), createKeyPair()]
  const from = (address: string): Record<string, string> => ({ 'x-forwarded-for': address })
  const pubkey = formatPublicKey(stranger.publicKey)
  const challenge = { method: 'POST', target: '/v2/challenges', headers: JSON_BODY, body: JSON.stringify({ pubkey }) }
  const sendFrom = (address: string) => h.sendSigned(alice, { ...ME, headers: from(address) })
  const unavailable = { status: 503, headers: { 'retry-after': '1' }, body: { error: { code: 'unavailable' } } }
  h.answer(issueChallenge, async () => {
    await gate.promise
    return { challenge: 'token', difficulty: 18, expires_at: 1, algorithm: 'sha256' }
  })

  // A request with a signature counts as signed, unless a signature from the same address was invalid recently.
  expect(await sendFrom('192.0.2.1')).toMatchObject({ status: 200 })
  expect(await h.sendSigned(stranger, { ...ME, headers: from('192.0.2.2') })).toMatchObject({ status: 401 })
  const held = Array.from({ length: MAX_UNSIGNED }, () => h.send(challenge))
  await eventually(() => h.callsTo(issueChallenge).length === MAX_UNSIGNED)
  const asked = h.callsTo(findAgent).length

  const register = { ...challenge, target: '/v2/agents/register' }
  const flood: Promise<unknown>[] = [
    h.send(challenge),
    h.sendSigned(stranger, challenge),
    h.sendSigned(stranger, register),
    h.send({ target: '/v2/agents' }),
    h.send({ target: '/nowhere' }),
    h.sendSigned(stranger, { ...ME, headers: from('192.0.2.2') }),
    sendFrom('192.0.2.2'),
  ]
  for (const answer of await Promise.all(flood)) expect(answer).toMatchObject(unavailable)
  expect(h.callsTo(issueChallenge)).toHaveLength(MAX_UNSIGNED)
  expect([h.callsTo(registerAgent).length, h.callsTo(findAgent).length]).toEqual([0, asked])
  expect((await h.send({ target: '/v2/health' })).status).toBe(200)
  expect(await sendFrom('192.0.2.1')).toMatchObject({ status: 200 })
  const write = { method: 'POST', target: '/v2/messages', headers: JSON_BODY, body: envelopeOf(alice) }
  h.register('bob')
  gate.resolve()
  expect(await h.sendSigned(alice, write)).toMatchObject({ status: 202 })
  expect((await Promise.all(held)).map(({ status }) => status)).toEqual(held.map(() => 201))
})

/** Fills all slots of unsigned requests. @returns these requests, which are answered when the gate opens. */
async function takeUnsignedRoom(): Promise<Promise<unknown>[]> {
  h.answer(listAgents, async () => {
    await gate.promise
    return { agents: [], next_cursor: '' }
  })
  const held = Array.from({ length: MAX_UNSIGNED }, () => h.send({ target: '/v2/agents' }))
  await eventually(() => h.callsTo(listAgents).length === MAX_UNSIGNED)
  return held
}

test.each([
  ['has another form', () => ({ [AUTHORIZATION_HEADER]: 'SVC mine' })],
  ['lacks its nonce', (valid: Headers) => ({ ...valid, [NONCE_HEADER]: '' })],
  ['has an old timestamp', (valid: Headers) => ({ ...valid, [TIMESTAMP_HEADER]: '1000000000' })],
])('an address shares the slots of unsigned requests after a signature that %s', async (_, spoil) => {
  const alice = h.register('alice')
  const headers = { ...spoil(signatureOf(alice, ME)), 'x-forwarded-for': '192.0.2.1' }
  expect(await h.send({ ...ME, headers })).toMatchObject({ status: 401 })
  const held = await takeUnsignedRoom()
  expect(await h.send({ ...ME, headers })).toMatchObject({ status: 503 })
  expect(await h.sendSigned(alice, ME)).toMatchObject({ status: 200 })
  gate.resolve()
  await Promise.all(held)
})

test('a request without a signature does not count against its address', async () => {
  expect(await h.send(ME)).toMatchObject({ status: 401 })
  const held = await takeUnsignedRoom()
  expect(await h.sendSigned(h.register('alice'), ME)).toMatchObject({ status: 200 })
  gate.resolve()
  await Promise.all(held)
})

function agentOf({ agentId, publicKey, name }: KeyPair & { name: string }) {
  return { agent_id: agentId, name, pubkey: formatPublicKey(publicKey), created_at: 1767268800, revoked: false }
}
