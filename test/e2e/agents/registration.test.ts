import { agentIdOf } from '@svc/svc1/agent-id.ts'
import { checkWork } from '@svc/svc1/pow.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { Agent, call, type HttpAnswer } from '../../support/client/agent.ts'
import { expectError, expectStamped } from '../../support/client/expect-answer.ts'
import { type Draft, draft, send, unixSeconds } from '../../support/client/signed-request.ts'
import { type SharedHarness, shareHarness } from '../../support/system/harness.ts'

/** Difficulty of the systems that tests start. */
const DIFFICULTY = 4

let h: SharedHarness
let made = 0

beforeAll(async () => {
  h = await shareHarness('usual')
  return () => h[Symbol.asyncDispose]()
})

/** An agent with a free name and a new key, alternately at one gateway and the other. */
function newAgent(name?: string): Agent {
  made += 1
  return new Agent({ ...h.place, url: h.system.urls[made % h.system.urls.length] ?? '' }, name ?? `new-agent-${made}`)
}

interface Registration {
  name: string
  pubkey: string
  challenge: string
  nonce: string
}

async function prepare(agent: Agent, changes: Partial<Registration> = {}): Promise<Registration> {
  return { name: agent.name, pubkey: agent.pubkey, ...(await agent.solve()), ...changes }
}

function register(agent: Agent, registration: Registration, changes: Partial<Draft> = {}): Promise<HttpAnswer> {
  const body = JSON.stringify(registration)
  return send(draft(agent, { method: 'POST', target: '/v2/agents/register', body, ...changes }))
}

function expectRegistered(answer: HttpAnswer, agent: Agent): void {
  expect(answer.status, answer.text).toBe(201)
  // The id is derived from the key (spec 2.3), and the address contains the name (spec 2.8).
  const agentId = agentIdOf(agent.key.publicKey)
  expect(answer.body).toEqual({ agent_id: agentId, address: `${agent.name}@${h.system.authority}` })
  expectStamped(answer)
}

/** A nonce that does not solve the challenge. */
function wrongNonce(challenge: string): string {
  for (let counter = 0; ; counter += 1) if (!checkWork(challenge, String(counter), DIFFICULTY)) return String(counter)
}

// libs/svc1/src/public-key.test.ts has every form of a key.
describe('spec 2.2: public keys', () => {
  test('spec 2.2: any case is accepted, and lower case is returned', async () => {
    const agent = newAgent()
    const own = Buffer.from(agent.key.publicKey).toString('hex')
    const pubkey = `ed25519:${own.slice(0, 32)}${own.slice(32).toUpperCase()}`
    const work = await agent.solve(pubkey)
    expectRegistered(await register(agent, { name: agent.name, pubkey, ...work }), agent)
    const found = await call(h.place, 'GET', `/v2/agents/${agent.name}`)
    expect(found.body.pubkey).toBe(`ed25519:${own}`)
  })
})

describe('spec 5.6: registration', () => {
  test("spec 2.8, 5.6: 201 with id and address, and the new identity's state", async () => {
    const agent = newAgent()
    const before = unixSeconds()
    expectRegistered(await register(agent, await prepare(agent)), agent)
    const found = await call(h.place, 'GET', `/v2/agents/${agent.name}`)
    expect(found.body).toEqual({
      agent_id: agent.id,
      name: agent.name,
      pubkey: agent.pubkey,
      created_at: expect.any(Number),
      revoked: false,
    })
    expect(found.body.created_at).toBeGreaterThanOrEqual(before)
    expect(found.body.created_at).toBeLessThanOrEqual(unixSeconds())
    expect((await agent.get('/v2/me')).body).toEqual({
      agent: found.body,
      address: `${agent.name}@${h.system.authority}`,
      inbox_policy: 'requests',
      discoverable: false,
    })
  })

  test('spec 3.19, 5.6: an identical repeat is 201 with the same body, whatever its challenge and its work', async () => {
    const agent = newAgent()
    const registration = await prepare(agent)
    expectRegistered(await register(agent, registration), agent)
    const challenges = [registration.challenge, 'garbage', (await prepare(newAgent())).challenge]
    for (const challenge of challenges) {
      expectRegistered(await register(agent, { ...registration, challenge, nonce: 'no-work' }), agent)
    }
  })
})

describe('spec 5.6: the order of the checks', () => {
  interface Fault {
    readonly status: number
    readonly code: string
    /** Whether the key must be registered already. */
    readonly put: (registration: Registration, given: Given) => Registration
  }
  interface Given {
    /** A name that another key has. */
    readonly takenName: string
    /** The challenge, with its solution, that the same key was registered with under its current name. */
    readonly consumed: { readonly challenge: string; readonly nonce: string }
  }
  const faults: readonly Fault[] = [
    { status: 400, code: 'invalid_name', put: (registration) => ({ ...registration, name: 'X' }) },
    {
      status: 400,
      code: 'challenge_invalid',
      put: (registration) => ({ ...registration, challenge: 'none' }),
    },
    {
      status: 400,
      code: 'pow_invalid',
      put: (registration) => ({ ...registration, nonce: wrongNonce(registration.challenge) }),
    },
    {
      status: 409,
      code: 'challenge_consumed',
      put: (registration, { consumed }) => ({ ...registration, ...consumed }),
    },
    { status: 409, code: 'name_taken', put: (registration, { takenName }) => ({ ...registration, name: takenName }) },
    { status: 409, code: 'key_registered', put: (registration) => registration },
  ]
  // services/identity/src/domain/registration.test.ts has every combination.

  /** A registered key asks for another name. This error is last in the order, and the only one here. */
  async function given(): Promise<{ agent: Agent; right: Registration; given: Given }> {
    const [owner, agent] = [newAgent(), newAgent()]
    expectRegistered(await register(owner, await prepare(owner)), owner)
    const first = await prepare(agent)
    expectRegistered(await register(agent, first), agent)
    const right = await prepare(agent, { name: `other-${agent.name}` })
    return {
      agent,
      right,
      given: { takenName: owner.name, consumed: { challenge: first.challenge, nonce: first.nonce } },
    }
  }

  test.each(faults)('spec 5.6: $status $code', async ({ status, code, put }) => {
    const { agent, right, given: around } = await given()
    expectError(await register(agent, put(right, around)), status, code)
  })

  test('spec 5.6: 400 invalid_name for a reserved name says so, and the challenge stays good for another name', async () => {
    const agent = newAgent()
    const registration = await prepare(agent)
    for (const name of ['support', 'supp0rt', 'post-master']) {
      const answer = await register(agent, { ...registration, name })
      expectError(answer, 400, 'invalid_name')
      expect(answer.body.error.message).toMatch(/reserved/)
    }
    expectRegistered(await register(agent, registration), agent)
  })

  test('spec 5.6, 5.12: 409 name_taken for a new key too, and the owner keeps the name', async () => {
    const [owner, taker] = [newAgent(), newAgent()]
    await register(owner, await prepare(owner))
    expectError(await register(taker, await prepare(taker, { name: owner.name })), 409, 'name_taken')
    const found = await call(h.place, 'GET', `/v2/agents/${owner.name}`)
    expect(found.body.agent_id).toBe(owner.id)
    expectError(await taker.get('/v2/me'), 401, 'signer_unknown')
  })
})
