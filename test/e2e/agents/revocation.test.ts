/** POST /v2/me/revoke: its effects, what it leaves in place, and that it needs no units. */
import { beforeAll, describe, expect, test } from 'vitest'
import type { Agent, HttpAnswer } from '../../support/client/agent.ts'
import { expectError, expectStamped } from '../../support/client/expect-answer.ts'
import { bodyTextOf, OPERATIONS, targetOf } from '../../support/description/operations.ts'
import { type SharedHarness, shareHarness } from '../../support/system/harness.ts'

let h: SharedHarness

beforeAll(async () => {
  h = await shareHarness('usual')
  return () => h[Symbol.asyncDispose]()
})

async function pair(): Promise<[Agent, Agent]> {
  const [first, second] = await h.agents(2)
  if (first === undefined || second === undefined) throw new Error('two agents are needed')
  return [first, second]
}

function revoke(agent: Agent, url = agent.place.url): Promise<HttpAnswer> {
  return agent.post('/v2/me/revoke', { confirm_agent_id: agent.id }, { url })
}

function expectRevoked(answer: HttpAnswer): void {
  expect(answer.status, answer.text).toBe(200)
  expect(answer.body).toEqual({ status: 'revoked' }) // the whole answer (spec 5.11)
  expectStamped(answer)
}

describe('spec 5.11: confirmation', () => {
  test("spec 5.11: 400 confirmation_mismatch for anything but the caller's id, and nothing is revoked", async () => {
    const [agent, other] = await pair()
    const { id, name, address, pubkey } = agent
    const spellings = [id.toLowerCase(), ` ${id}`, `${id}\n`, id.slice(0, -1)]
    for (const confirm_agent_id of ['', 'yes', other.id, name, address, pubkey, ...spellings]) {
      expectError(await agent.post('/v2/me/revoke', { confirm_agent_id }), 400, 'confirmation_mismatch')
    }
    for (const one of [agent, other]) {
      expect(await one.get('/v2/me')).toMatchObject({ status: 200, body: { agent: { revoked: false } } })
    }
  })
})

describe('spec 5.11: revoked', () => {
  test('spec 3.19, 5.11: every later request is 401 signer_revoked, at every gateway', async () => {
    const [agent] = await pair()
    expectRevoked(await revoke(agent))
    // Only a registration may be repeated by its key (spec 5.6).
    for (const operation of OPERATIONS.filter(({ path }) => path !== '/v2/agents/register')) {
      const body = bodyTextOf(operation)?.replace(/"ed25519:[0-9a-f]{64}"/, JSON.stringify(agent.pubkey))
      for (const url of h.system.urls) {
        const options = body === undefined ? { url } : { url, body }
        expectError(await agent.call(operation.method, targetOf(operation), options), 401, 'signer_revoked')
      }
    }
    for (const url of h.system.urls) expectError(await revoke(agent, url), 401, 'signer_revoked')
  })

  test('spec 5.11, 6.2: a DM to it is 404 recipient_unavailable, from any sender, also under an open policy, and sealed', async () => {
    for (const policy of ['requests', 'open'] as const) {
      const [agent, friend] = await pair()
      const [stranger] = await pair()
      expect(await agent.patch('/v2/me', { inbox_policy: policy })).toMatchObject({ status: 200 })
      expect(await agent.put(`/v2/contacts/${friend.id}`, { state: 'accepted' })).toMatchObject({ status: 200 })
      expect(await friend.send(agent)).toMatchObject({ status: 202, body: { lane: 'inbox' } })
      const used = (await friend.get('/v2/budget')).body.used_units
      expectRevoked(await revoke(agent))
      for (const url of h.system.urls) {
        for (const sender of [friend, stranger]) {
          for (const envelope of [sender.envelope(agent), await sender.sealed(agent)]) {
            expectError(await sender.post('/v2/messages', envelope, { url }), 404, 'recipient_unavailable')
          }
        }
      }
      // spec 11.3: a refused message leaves no trace
      expect((await friend.get('/v2/budget')).body.used_units).toBe(used)
      expect((await stranger.get('/v2/budget')).body).toMatchObject({ used_units: 0, used_introductions: 0 })
    }
  })

  test('spec 5.11: messages that it had sent stay with their recipients', async () => {
    const [agent, recipient] = await pair()
    const envelope = agent.envelope(recipient)
    expect(await agent.post('/v2/messages', envelope)).toMatchObject({ status: 202 })
    expectRevoked(await revoke(agent))
    expect(await recipient.get(`/v2/messages/${envelope.id}`)).toMatchObject({ status: 200, body: { envelope } })
    expect((await recipient.get('/v2/inbox?lane=requests')).body.messages).toMatchObject([{ envelope }])
    expect(await recipient.post(`/v2/messages/${envelope.id}/ack`)).toMatchObject({ status: 200 })
    expect(await recipient.put(`/v2/contacts/${agent.id}`, { state: 'blocked' })).toMatchObject({ status: 200 })
    // spec 5.9: revoked identities are not listed
    expect((await recipient.get('/v2/contacts')).body.contacts).toEqual([])
  })

  test('spec 5.11: of many concurrent revocations each is 200, or 401 signer_revoked if it came later', async () => {
    for (let round = 0; round < 3; round += 1) {
      const [agent] = await pair()
      const answers = await Promise.all(Array.from({ length: 10 }, (_, at) => revoke(agent, h.system.urls[at % 2])))
      const done = answers.filter(({ status }) => status === 200)
      expect(done.length).toBeGreaterThanOrEqual(1)
      for (const answer of done) expectRevoked(answer)
      for (const answer of answers) if (answer.status !== 200) expectError(answer, 401, 'signer_revoked')
      for (const url of h.system.urls) expectError(await agent.get('/v2/me', { url }), 401, 'signer_revoked')
    }
  })
})
