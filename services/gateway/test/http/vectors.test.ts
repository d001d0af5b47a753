/** Sends the vectors of what must be refused to a gateway whose clock stands still. */
import { sendMessage } from '@svc/contracts/messaging.ts'
import { createKeyPair, type KeyPair } from '@svc/svc1/key-pair.ts'
import { readVectors } from '@svc/test/support/vectors.ts'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type Harness, JSON_BODY, startHarness } from '../support/harness.ts'

interface Party {
  name: string
  state: string
  secret_key: string
}
interface Requests {
  authority: string
  clock: number
  agents: Party[]
  cases: {
    about: string
    section: string
    request: { method: string; target: string; headers: string[]; body?: string; body_times?: number }
    code: string | null
  }[]
}
interface Envelopes {
  authority: string
  clock: string
  agents: Party[]
  cases: { about: string; section: string; envelope: string; code: string | null }[]
}
const requests = readVectors<Requests>('refused-requests.json')
const envelopes = readVectors<Envelopes>('refused-envelopes.json')

let h: Harness
const keys = new Map<string, KeyPair>()
beforeAll(async () => {
  h = await startHarness({ SVC_AUTHORITY: requests.authority })
  for (const { name, state, secret_key } of requests.agents) {
    const key = createKeyPair(Buffer.from(secret_key, 'hex'))
    keys.set(name, key)
    if (state !== 'not registered') h.register(name, key)
    if (state === 'revoked') h.revoke(key)
    if (state === 'suspended') h.suspended.add(key.agentId)
  }
  vi.useFakeTimers({ now: requests.clock * 1_000, toFake: ['Date'] })
})
afterAll(async () => {
  vi.useRealTimers()
  await h[Symbol.asyncDispose]()
})

// Identity checks the key of an unsigned request.
const { cases } = requests
const ofGateway = cases.filter(({ request, code }) => code !== 'invalid_pubkey' || request.headers.length > 2)

test.each(ofGateway)('spec $section: $about: $code', async ({ request, code }) => {
  const { method, target, headers, body = '', body_times = 1 } = request
  const bytes = Buffer.from(body.repeat(body_times))
  const length = bytes.length === 0 ? [] : [`content-length: ${bytes.length}`]
  const head = [`${method} ${target} HTTP/1.1`, ...headers, ...length, 'connection: close'].join('\r\n')
  const answer = await h.sendRaw(Buffer.concat([Buffer.from(`${head}\r\n\r\n`), bytes]))
  expect(answer).toMatch(code === null ? /^HTTP\/1.1 20[0-4] / : new RegExp(`"error":\\{"code":"${code}"`))
})

/** What messaging decides, with what it must be told for it. Its own tests check the time, and revoked recipients. */
const OF_MESSAGING: Record<string, object> = {
  envelope_timestamp_out_of_range: {},
  expired: {},
  recipient_not_local: { recipient: { kind: 'foreign' } },
  recipient_unavailable: { recipient: { kind: expect.stringMatching(/^(unknown|agent)$/) } },
  invalid_reference: {},
}

test.each(envelopes.cases)('spec $section: an envelope: $about: $code', async ({ envelope, code }) => {
  const alice = keys.get('alice') ?? expect.unreachable()
  const before = h.callsTo(sendMessage).length
  const request = { method: 'POST', target: '/v2/messages', headers: JSON_BODY, body: envelope }
  const answer = await h.sendSigned(alice, request, { authority: envelopes.authority })
  const told = h.callsTo(sendMessage).slice(before)
  if (code === null || code in OF_MESSAGING) {
    expect(answer.status).toBe(202)
    expect(told).toMatchObject([{ request: OF_MESSAGING[code ?? ''] ?? {} }])
  } else {
    expect(answer.body).toMatchObject({ error: { code } })
    expect(told).toEqual([])
  }
})
