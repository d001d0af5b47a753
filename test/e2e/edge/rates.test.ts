/** Request rates, how clients are counted, and browsers of configured origins. */
import { randomBytes } from 'node:crypto'
import { createKeyPair } from '@svc/svc1/key-pair.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { Agent, type HttpAnswer } from '../../support/client/agent.ts'
import { expectError, expectStamped } from '../../support/client/expect-answer.ts'
import { type Exchange, exchange } from '../../support/client/raw-http.ts'
import { draft, headersOf, send } from '../../support/client/signed-request.ts'
import { ABSENT_PUBKEY } from '../../support/description/operations.ts'
import { eventually } from '../../support/eventually.ts'
import { type Harness, startHarness } from '../../support/system/harness.ts'
import type { TestProcess } from '../../support/system/processes.ts'
import { ONE_OF_EACH } from '../../support/system/system.ts'

/** Also enough for one client's health requests until the system is up. */
const BURST = 20
const REGISTRATION_BURST = 4
/** Seconds until one more request is allowed. This is longer than a test runs, so counts are exact. */
const SECONDS_EACH = 500
const REGISTRATION_SECONDS_EACH = 250
const TRUSTED = '127.0.0.1,10.0.0.0/8,2001:db8:ffff::/48'
const ORIGIN = 'https://app.example'

let h: Harness
/** A gateway that trusts forwarded addresses from this machine, so that a test can act as many clients. */
let trusting: string
/** A second such gateway. */
let alsoTrusting: string
let strict: string
let alice: Agent

beforeAll(async () => {
  h = await startHarness({
    replicas: { ...ONE_OF_EACH, gateway: 3 },
    env: {
      SVC_RATE_PER_SECOND: String(1 / SECONDS_EACH),
      SVC_RATE_BURST: String(BURST),
      SVC_REGISTRATION_RATE_PER_SECOND: String(1 / REGISTRATION_SECONDS_EACH),
      SVC_REGISTRATION_RATE_BURST: String(REGISTRATION_BURST),
      SVC_CORS_ORIGINS: `${ORIGIN},http://localhost:3000`,
    },
    envOf: {
      'gateway-1': { SVC_TRUSTED_PROXIES: TRUSTED },
      'gateway-2': { SVC_TRUSTED_PROXIES: TRUSTED },
      'gateway-3': { SVC_TRUSTED_PROXIES: '192.0.2.7' },
    },
  })
  const [first = '', second = '', third = ''] = h.system.urls
  trusting = first
  alsoTrusting = second
  strict = third
  await eventually(() => gateways().every(knowsTheOthers))
  alice = await new Agent(h.place).register()
  return () => h[Symbol.asyncDispose]()
})

function gateways(): TestProcess[] {
  return [...h.system.processes.values()].filter(({ name }) => name.startsWith('gateway-'))
}

function changesOf({ log }: TestProcess): TestProcess['log'] {
  return log.filter(({ message }) => message === 'gateways that share rates')
}

function knowsTheOthers(gateway: TestProcess): boolean {
  return changesOf(gateway).at(-1)?.fields.gateways === 3
}

/** For rules that hold while gateways hear each other within a second, which a busy machine sometimes prevents. */
async function together(attempt: () => Promise<void>): Promise<void> {
  for (let left = 3; left > 0; left -= 1) {
    await eventually(() => gateways().every(knowsTheOthers))
    const before = gateways().flatMap(changesOf).length
    try {
      return await attempt()
    } catch (error) {
      if (left === 1 || gateways().flatMap(changesOf).length === before) throw error
    }
  }
}

/** An address that no other test uses. */
function newClient(): string {
  const [a, b, c] = randomBytes(3)
  return `198.${a}.${b}.${c}`
}

function from(forwardedFor: string, request: Partial<Exchange> = {}, url = trusting): Promise<HttpAnswer> {
  const headers = { ...request.headers, 'x-forwarded-for': forwardedFor }
  return exchange(url, { target: '/v2/agents', ...request, headers })
}

/** Sends `count` requests at once. @returns how many of them were not refused for their rate. */
async function admitted(count: number, request: (at: number) => Promise<HttpAnswer>): Promise<number> {
  const answers = await Promise.all(Array.from({ length: count }, (_, at) => request(at)))
  for (const answer of answers) if (answer.status === 429) expectError(answer, 429, 'rate_limited')
  return answers.filter(({ status }) => status !== 429).length
}

/** Uses up the allowance of a client. */
async function exhaust(client: string): Promise<void> {
  expect(await admitted(BURST + 1, () => from(client))).toBe(BURST)
}

const askForChallenge = { method: 'POST', target: '/v2/challenges', headers: { 'content-type': 'application/json' } }

describe('spec 3.15: requests of one client address', () => {
  test('spec 3.15: a burst is admitted, and the next requests are 429 rate_limited with Retry-After', async () => {
    const client = newClient()
    expect(await admitted(3 * BURST, () => from(client))).toBe(BURST)
    const refused = await from(client)
    expectError(refused, 429, 'rate_limited')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(SECONDS_EACH / 2)
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(SECONDS_EACH)
  })

  test('spec 3.15: every request counts, whatever its kind and its outcome', async () => {
    const client = newClient()
    const kinds: Partial<Exchange>[] = [
      { target: '/v2/health' },
      { target: '/openapi.json' },
      { target: '/v2/nothing' },
      { target: '/v2/me' },
      { method: 'OPTIONS', target: '/v2/me' },
      { method: 'POST', target: '/v2/messages', body: '{' },
    ]
    expect(await admitted(3 * BURST, (at) => from(client, kinds[at % kinds.length]))).toBe(BURST)
    for (const kind of kinds) expectError(await from(client, kind), 429, 'rate_limited')
  })

  test('spec 3.15: the address counts, not the signer', async () => {
    const [one, other] = [newClient(), newClient()]
    await exhaust(one)
    const headers = (): Record<string, string | readonly string[]> => headersOf(draft(alice))
    expectError(await from(one, { target: '/v2/me', headers: headers() }), 429, 'rate_limited')
    expect(await from(other, { target: '/v2/me', headers: headers() })).toMatchObject({ status: 200 })
  })

  test('spec 3.7, 3.15: a request that was refused for its rate has not used its nonce', async () => {
    const [one, other] = [newClient(), newClient()]
    await exhaust(one)
    const request = { target: '/v2/me', headers: headersOf(draft(alice)) }
    expectError(await from(one, request), 429, 'rate_limited')
    expect(await from(other, request)).toMatchObject({ status: 200 })
  })
})

describe('spec 3.15: challenges and registrations together', () => {
  const body = JSON.stringify({ pubkey: ABSENT_PUBKEY })

  test('spec 3.15: have their own smaller burst', async () => {
    await together(async () => {
      const client = newClient()
      const challenge = (): Promise<HttpAnswer> => from(client, { ...askForChallenge, body })
      expect(await admitted(BURST - 2, challenge)).toBe(REGISTRATION_BURST)
      const register = { method: 'POST', target: '/v2/agents/register', body: '{}' }
      const refused = await from(client, register)
      expectError(refused, 429, 'rate_limited')
      expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(REGISTRATION_SECONDS_EACH)
      // other requests of this client still work
      expect(await from(client)).toMatchObject({ status: 200 })
    })
  })

  test('spec 3.15: a registration counts like a challenge', async () => {
    const client = newClient()
    const key = new Agent(h.place, 'a-name', createKeyPair())
    const register = (): Partial<Exchange> => {
      const registration = JSON.stringify({ name: key.name, pubkey: key.pubkey, challenge: 'none', nonce: '1' })
      const right = draft(key, { method: 'POST', target: '/v2/agents/register', body: registration })
      return { method: right.method, target: right.target, headers: headersOf(right), body: registration }
    }
    expect(await admitted(BURST - 1, () => from(client, register()))).toBe(REGISTRATION_BURST)
    expectError(await from(client, { ...askForChallenge, body }), 429, 'rate_limited')
  })

  test('spec 3.15: they also count towards the limit of all requests', async () => {
    await together(async () => {
      const client = newClient()
      await admitted(REGISTRATION_BURST, () => from(client, { ...askForChallenge, body }))
      expect(await admitted(3 * BURST, () => from(client))).toBe(BURST - REGISTRATION_BURST)
    })
  })
})

describe('spec 3.15: limits hold over several gateways together, within 20 %', () => {
  const both = (at: number): string => (at % 2 === 0 ? trusting : alsoTrusting)

  test('a burst that arrives at two gateways at once is one burst', async () => {
    await together(async () => {
      const client = newClient()
      const count = await admitted(4 * BURST, (at) => from(client, {}, both(at)))
      expect(count).toBeGreaterThanOrEqual(BURST)
      expect(count).toBeLessThanOrEqual(1.2 * BURST)
      for (const url of [trusting, alsoTrusting]) expectError(await from(client, {}, url), 429, 'rate_limited')
    })
  })

  test('requests at one gateway count at the other', async () => {
    await together(async () => {
      const client = newClient()
      await exhaust(client)
      // Gateways may admit only a fifth of the burst before they consult each other.
      expect(await admitted(BURST, () => from(client, {}, alsoTrusting))).toBeLessThanOrEqual(0.2 * BURST)
    })
  })

  test('challenges and registrations at one gateway count at the other too', async () => {
    const body = JSON.stringify({ pubkey: ABSENT_PUBKEY })
    await together(async () => {
      const client = newClient()
      const count = await admitted(BURST - 2, (at) => from(client, { ...askForChallenge, body }, both(at)))
      expect(count).toBe(REGISTRATION_BURST) // a fifth of this burst is less than one request
    })
  })
})

describe('spec 3.16: arbitrary forwarded headers are never trusted', () => {
  test('spec 3.16: X-Forwarded-For from a peer that is no configured proxy changes nothing', async () => {
    const count = await admitted(3 * BURST, () => from(newClient(), {}, strict))
    expect(count).toBeLessThanOrEqual(BURST + 3)
  })

  test('spec 3.16: other headers that name a client are ignored', async () => {
    const client = newClient()
    const names = ['forwarded', 'x-real-ip', 'x-client-ip', 'true-client-ip', 'cf-connecting-ip', 'x-cluster-client-ip']
    const count = await admitted(3 * BURST, (at) => {
      const name = names[at % names.length] ?? ''
      return from(client, { headers: { [name]: name === 'forwarded' ? `for=${newClient()}` : newClient() } })
    })
    expect(count).toBe(BURST)
  })

  test('spec 3.16: X-Forwarded-For in several lines is one list', async () => {
    const client = newClient()
    await exhaust(client)
    const headers = { 'x-forwarded-for': [newClient(), client] }
    expectError(await exchange(trusting, { target: '/v2/agents', headers }), 429, 'rate_limited')
  })
})

describe('spec 3.18: browsers of configured origins', () => {
  const preflight = {
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization,content-type,x-svc-nonce,x-svc-timestamp',
  }
  const listOf = (answer: HttpAnswer, name: string): string[] =>
    (answer.headers.get(name) ?? '')
      .toLowerCase()
      .split(',')
      .map((part) => part.trim())

  test('spec 3.18: a preflight is answered, for everything that a client of the API sends', async () => {
    const headers = { ...preflight, origin: ORIGIN }
    const answer = await from(newClient(), { method: 'OPTIONS', target: '/v2/messages', headers })
    expect([200, 204]).toContain(answer.status)
    expect(answer.headers.get('access-control-allow-origin')).toBe(ORIGIN)
    expect(listOf(answer, 'access-control-allow-methods')).toEqual(
      expect.arrayContaining(['get', 'post', 'put', 'patch', 'delete']),
    )
    expect(listOf(answer, 'access-control-allow-headers')).toEqual(
      expect.arrayContaining(['authorization', 'content-type', 'x-svc-nonce', 'x-svc-timestamp', 'last-event-id']),
    )
    expect(answer.headers.get('access-control-allow-credentials')).toBeNull()
    expectStamped(answer)
  })

  test('spec 3.18: answers, also errors, allow the page to read them and the headers that clients act on', async () => {
    const client = newClient()
    for (const target of ['/v2/agents', '/v2/nothing', '/v2/me']) {
      const answer = await from(client, { target, headers: { origin: ORIGIN } })
      expect(answer.headers.get('access-control-allow-origin')).toBe(ORIGIN)
      expect(listOf(answer, 'access-control-expose-headers')).toEqual(
        expect.arrayContaining(['date', 'retry-after', 'x-request-id']),
      )
      expect(listOf(answer, 'vary')).toContain('origin')
    }
    const other = newClient()
    await exhaust(other)
    const refused = await from(other, { headers: { origin: ORIGIN } })
    expectError(refused, 429, 'rate_limited')
    expect(refused.headers.get('access-control-allow-origin')).toBe(ORIGIN)
  })

  test('spec 3.1, 3.18: a supplied signature must be valid for a page as well', async () => {
    const edit = (headers: Record<string, string>): Record<string, string> => ({
      ...headers,
      origin: ORIGIN,
      'x-forwarded-for': newClient(),
    })
    expectError(
      await send(draft(alice, { target: '/v2/agents', signed: { target: '/v2/me' }, edit, url: trusting })),
      401,
      'signature_invalid',
    )
  })
})
