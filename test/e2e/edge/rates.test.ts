/** Request rates, alone and over several gateways. services/gateway/test/rates has what counts, and whose addresses are trusted. */
import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { Agent, type HttpAnswer } from '../../support/client/agent.ts'
import { expectError } from '../../support/client/expect-answer.ts'
import { type Exchange, exchange } from '../../support/client/raw-http.ts'
import { draft, headersOf } from '../../support/client/signed-request.ts'
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

let h: Harness
/** The gateways. They trust forwarded addresses from this machine, so that a test can act as many clients. */
let one: string
let other: string
let alice: Agent

beforeAll(async () => {
  h = await startHarness({
    replicas: { ...ONE_OF_EACH, gateway: 2 },
    env: {
      SVC_RATE_PER_SECOND: String(1 / SECONDS_EACH),
      SVC_RATE_BURST: String(BURST),
      SVC_REGISTRATION_RATE_PER_SECOND: String(1 / REGISTRATION_SECONDS_EACH),
      SVC_REGISTRATION_RATE_BURST: String(REGISTRATION_BURST),
      SVC_TRUSTED_PROXIES: '127.0.0.1',
    },
  })
  ;[one = '', other = ''] = h.system.urls
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
  return changesOf(gateway).at(-1)?.fields.gateways === 2
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

function from(forwardedFor: string, request: Partial<Exchange> = {}, url = one): Promise<HttpAnswer> {
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

  test('spec 3.15: the address counts, not the signer', async () => {
    const [slow, free] = [newClient(), newClient()]
    await exhaust(slow)
    const headers = (): Record<string, string | readonly string[]> => headersOf(draft(alice))
    expectError(await from(slow, { target: '/v2/me', headers: headers() }), 429, 'rate_limited')
    expect(await from(free, { target: '/v2/me', headers: headers() })).toMatchObject({ status: 200 })
  })

  test('spec 3.7, 3.15: a request that was refused for its rate has not used its nonce', async () => {
    const [slow, free] = [newClient(), newClient()]
    await exhaust(slow)
    const request = { target: '/v2/me', headers: headersOf(draft(alice)) }
    expectError(await from(slow, request), 429, 'rate_limited')
    expect(await from(free, request)).toMatchObject({ status: 200 })
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

  test('spec 3.15: they also count towards the limit of all requests', async () => {
    await together(async () => {
      const client = newClient()
      await admitted(REGISTRATION_BURST, () => from(client, { ...askForChallenge, body }))
      expect(await admitted(3 * BURST, () => from(client))).toBe(BURST - REGISTRATION_BURST)
    })
  })
})

describe('spec 3.15: limits hold over several gateways together, within 20 %', () => {
  const both = (at: number): string => (at % 2 === 0 ? one : other)

  test('a burst that arrives at two gateways at once is one burst', async () => {
    await together(async () => {
      const client = newClient()
      const count = await admitted(4 * BURST, (at) => from(client, {}, both(at)))
      expect(count).toBeGreaterThanOrEqual(BURST)
      expect(count).toBeLessThanOrEqual(1.2 * BURST)
      for (const url of [one, other]) expectError(await from(client, {}, url), 429, 'rate_limited')
    })
  })

  test('requests at one gateway count at the other', async () => {
    await together(async () => {
      const client = newClient()
      await exhaust(client)
      // Gateways may admit only a fifth of the burst before they consult each other.
      expect(await admitted(BURST, () => from(client, {}, other))).toBeLessThanOrEqual(0.2 * BURST)
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
