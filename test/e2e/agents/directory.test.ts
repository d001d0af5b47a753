/** The public directory, the lookup by name, and the caller's own identity. */
import { beforeAll, describe, expect, test } from 'vitest'
import { Agent, call, type HttpAnswer } from '../../support/client/agent.ts'
import { expectError, expectStamped } from '../../support/client/expect-answer.ts'
import { type Harness, startHarness } from '../../support/system/harness.ts'
import { ONE_OF_EACH } from '../../support/system/system.ts'

// In byte order. The collation of a language would sort - and _ differently, or ignore them.
const LISTED = [
  '0-zero',
  '00zero',
  '9__',
  '9ab',
  'a--',
  'a-b',
  'a-z',
  'a0b',
  'a_b',
  'aa9',
  'aab',
  'ab-',
  'ab0',
  'ab_',
  'aba',
  'abz',
  'b-0',
  // More than the default page size.
  ...Array.from({ length: 36 }, (_, at) => `c${String(at).padStart(2, '0')}`),
  'zz_',
]

/** The number of concurrent registrations. If all ran at once, some would wait longer than a request may take. */
const AT_ONCE = 10
/** The largest assumed difference between the database's clock and this one. */
const CLOCKS_SECONDS = 5

let h: Harness
let startedSeconds: number
const agents = new Map<string, Agent>()
let revoked: Agent
let hidden: Agent
/** Was discoverable, but no longer is. */
let withdrawn: Agent

beforeAll(async () => {
  h = await startHarness({ replicas: { ...ONE_OF_EACH, identity: 2, gateway: 2 } })
  startedSeconds = Math.floor(Date.now() / 1000)
  const names = [...LISTED, 'abc-revoked', 'abc-hidden', 'abc-withdrawn'].entries()
  const registerAll = async (): Promise<void> => {
    for (const [at, name] of names) {
      const place = { ...h.place, url: h.system.urls[at % h.system.urls.length] ?? '' }
      const agent = await new Agent(place, name).register()
      agents.set(name, agent)
      if (name !== 'abc-hidden')
        expect(await agent.patch('/v2/me', { discoverable: true })).toMatchObject({ status: 200 })
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, registerAll))
  revoked = agentOf('abc-revoked')
  hidden = agentOf('abc-hidden')
  withdrawn = agentOf('abc-withdrawn')
  expect(await revoked.post('/v2/me/revoke', { confirm_agent_id: revoked.id })).toMatchObject({ status: 200 })
  expect(await withdrawn.patch('/v2/me', { discoverable: false })).toMatchObject({ status: 200 })
  return () => h[Symbol.asyncDispose]()
})

function agentOf(name: string): Agent {
  const agent = agents.get(name)
  if (agent === undefined) throw new Error(`there is no agent ${name}`)
  return agent
}

function list(query = '', at = 0): Promise<HttpAnswer> {
  return call({ ...h.place, url: h.system.urls[at] ?? '' }, 'GET', `/v2/agents${query}`)
}

function namesOf({ status, text, body }: HttpAnswer): string[] {
  expect(status, text).toBe(200)
  expect(Object.keys(body).sort()).toEqual(['agents', 'next_cursor'])
  return body.agents.map(({ name }: { name: string }) => name)
}

describe('spec 12.1: GET /v2/agents', () => {
  test('spec 5.9, 7.9: lists the discoverable identities that are not revoked, in byte order of the name', async () => {
    expect(LISTED).toEqual([...LISTED].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))))
    for (const at of h.system.urls.keys()) {
      const answer = await list('?limit=100', at)
      expect(namesOf(answer)).toEqual(LISTED)
      expect(answer.body.next_cursor).toBe('')
      expectStamped(answer)
    }
  })

  test('spec 11.7: a page has 50 agents by default', async () => {
    const answer = await list()
    expect(namesOf(answer)).toEqual(LISTED.slice(0, 50))
    expect(answer.body.next_cursor).toBe(LISTED[49])
    expect(namesOf(await list(`?after=${answer.body.next_cursor}`))).toEqual(LISTED.slice(50))
  })

  test('spec 5.3: each entry has exactly the specified fields', async () => {
    const { body } = await list()
    for (const entry of body.agents) {
      const agent = agentOf(entry.name)
      const { created_at } = entry
      expect(entry).toEqual({ agent_id: agent.id, name: agent.name, pubkey: agent.pubkey, created_at, revoked: false })
      expect(created_at).toBeGreaterThan(startedSeconds - CLOCKS_SECONDS)
      expect(created_at).toBeLessThan(Date.now() / 1000 + CLOCKS_SECONDS)
    }
  })

  test('spec 5.10: an identity that becomes discoverable is listed at once at every gateway, and removed at once when it withdraws', async () => {
    for (const discoverable of [true, false, true, false]) {
      expect(await hidden.patch('/v2/me', { discoverable })).toMatchObject({ status: 200, body: { discoverable } })
      for (const at of h.system.urls.keys())
        expect(namesOf(await list('?limit=100', at)).includes(hidden.name)).toBe(discoverable)
    }
  })

  test('spec 12.1: a signature is optional and changes nothing', async () => {
    expect((await hidden.get('/v2/agents')).body).toEqual((await list()).body)
  })
})

describe('spec 12.1: GET /v2/agents/{name}', () => {
  test('spec 5.9: finds the identity by name, discoverable or not', async () => {
    for (const agent of [agentOf('a_b'), hidden, withdrawn]) {
      for (const url of h.system.urls) {
        const answer = await call({ ...h.place, url }, 'GET', `/v2/agents/${agent.name}`)
        expect(answer.status).toBe(200)
        expect(answer.body).toEqual({
          agent_id: agent.id,
          name: agent.name,
          pubkey: agent.pubkey,
          created_at: expect.any(Number),
          revoked: false,
        })
      }
    }
  })

  test('spec 5.11: finds a revoked identity too, with revoked true', async () => {
    for (const url of h.system.urls) {
      const answer = await call({ ...h.place, url }, 'GET', `/v2/agents/${revoked.name}`)
      expect(answer).toMatchObject({
        status: 200,
        body: { agent_id: revoked.id, pubkey: revoked.pubkey, revoked: true },
      })
    }
  })

  test.each([
    'ab',
    'abc',
    'abc-',
    'abc-hid',
    'abc-hidden-',
    'abc-hiddem',
    'hidden',
    'bc-hidden',
    'abc%2Dhidde',
    'abc_hidden',
    '*',
    '%25',
  ])('spec 5.9: by exact name only: %s', async (name) => {
    expectError(await call(h.place, 'GET', `/v2/agents/${name}`), 404, 'not_found')
  })

  test('a free name is found as soon as it is registered', async () => {
    const agent = new Agent(h.place)
    for (const url of h.system.urls)
      expectError(await call({ ...h.place, url }, 'GET', `/v2/agents/${agent.name}`), 404, 'not_found')
    await agent.register()
    for (const url of h.system.urls) {
      expect(await call({ ...h.place, url }, 'GET', `/v2/agents/${agent.name}`)).toMatchObject({ status: 200 })
      expect(await agent.get('/v2/me', { url })).toMatchObject({ status: 200 })
    }
  })
})

describe('spec 12.1: GET /v2/me', () => {
  test('spec 2.8, 5.10: the caller, with its address and its settings', async () => {
    for (const url of h.system.urls) {
      const answer = await hidden.get('/v2/me', { url })
      expect(answer.status).toBe(200)
      expect(answer.body).toEqual({
        agent: (await call(h.place, 'GET', `/v2/agents/${hidden.name}`)).body,
        address: `${hidden.name}@${h.system.authority}`,
        inbox_policy: 'requests',
        discoverable: false,
      })
    }
  })
})
