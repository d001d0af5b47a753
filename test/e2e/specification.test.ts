/**
 * Rows of the specification's tables that no other end-to-end test covers: permissions, contents of resources, forms of
 * answers. Each runs over HTTP through the whole system.
 */
import { ERRORS } from '@svc/contracts/errors.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Agent, call, type HttpAnswer } from '../support/client/agent.ts'
import { got, outcomeOf, spendingOf } from '../support/client/answers.ts'
import { newBoard, putRole } from '../support/client/boards.ts'
import { expectError } from '../support/client/expect-answer.ts'
import { type SharedHarness, shareHarness } from '../support/system/harness.ts'

let h: SharedHarness
beforeAll(async () => {
  h = await shareHarness('roomy')
  return () => h[Symbol.asyncDispose]()
})

const anonymous = (path: string): Promise<HttpAnswer> => call(h.place, 'GET', path)

/** @returns the id of the post. */
async function post(author: Agent, board: string): Promise<string> {
  const { body } = await got(author.send(`board:${board}`))
  return body.msg_id
}

const hide = (agent: Agent, board: string, id: string, hidden: boolean): Promise<HttpAnswer> =>
  agent.put(`/v2/boards/${board}/messages/${id}/visibility`, { hidden })

describe('spec 4.3: the codes of each status', () => {
  const CODES: Record<number, string> = {
    400: `invalid_json invalid_request invalid_envelope invalid_pubkey invalid_name invalid_reference invalid_cursor
      invalid_webhook_url challenge_invalid pow_invalid envelope_timestamp_out_of_range expired recipient_not_local
      confirmation_mismatch`,
    401: 'unauthenticated timestamp_out_of_range signer_unknown signer_revoked signature_invalid',
    403: 'forbidden sender_mismatch admission_denied own_post',
    404: 'not_found recipient_unavailable',
    409: `nonce_replayed id_conflict name_taken key_registered challenge_consumed request_pending board_limit
      membership_limit owner_role agent_revoked`,
    413: 'body_too_large message_too_large',
    415: 'unsupported_media_type',
    429: 'rate_limited budget_exhausted hard_limit_reached introduction_limit_reached stream_limit stream_capacity',
    500: 'internal',
    503: 'unavailable',
  }

  test.each(Object.entries(CODES))('%s', (status, codes) => {
    const found = Object.entries(ERRORS).filter(([, error]) => error.status === Number(status))
    expect(found.map(([code]) => code).sort()).toEqual(codes.split(/\s+/).sort())
  })

  test('no other status', () => {
    expect(new Set(Object.values(ERRORS).map(({ status }) => String(status)))).toEqual(new Set(Object.keys(CODES)))
  })
})

describe('spec 5.10, 7.5: inbox policies', () => {
  test('a new identity has policy requests; its owner sets any policy for 1 unit, and closed for free', async () => {
    const [alice] = await h.agents(1)
    expect((await got(alice.get('/v2/me'))).body.inbox_policy).toBe('requests')
    let units = 0
    for (const policy of ['open', 'contacts', 'closed', 'requests', 'closed']) {
      expect((await got(alice.patch('/v2/me', { inbox_policy: policy }))).body.inbox_policy).toBe(policy)
      units += policy === 'closed' ? 0 : 1
      expect((await spendingOf(alice)).units).toBe(units)
    }
    expectError(await alice.patch('/v2/me', { inbox_policy: 'other' }), 400, 'invalid_request')
  })
})

describe('spec 1.3: permissions', () => {
  test('any caller: health, directory, lookup, public and unlisted boards, challenges', async () => {
    const [alice] = await h.agents(1)
    const board = await newBoard(alice, { visibility: 'unlisted' })
    const id = await post(alice, board)
    const paths = ['/v2/health', '/v2/agents', `/v2/agents/${alice.name}`, '/v2/boards', `/v2/boards/${board}`]
    for (const path of [...paths, `/v2/boards/${board}/messages`, `/v2/messages/${id}`]) {
      expect([path, (await anonymous(path)).status]).toEqual([path, 200])
    }
    expect((await call(h.place, 'POST', '/v2/challenges', { body: { pubkey: alice.pubkey } })).status).toBe(201)
  })

  test('a registered identity: only its own things', async () => {
    const [alice] = await h.agents(1)
    for (const path of ['/v2/me', '/v2/budget', '/v2/contacts', '/v2/inbox', '/v2/export', '/v2/events']) {
      expect([path, (await alice.get(path)).status]).toEqual([path, 200])
      expectError(await anonymous(path), 401, 'unauthenticated')
    }
  })

  test('board owner: can list members, assign roles, hide and restore; a writer cannot', async () => {
    const [owner, writer] = await h.agents(2)
    const board = await newBoard(owner)
    await got(putRole(owner, board, writer, 'writer'))
    const id = await post(writer, board)
    const acts = [
      (agent: Agent) => agent.get(`/v2/boards/${board}/members`),
      (agent: Agent) => putRole(agent, board, agent === owner ? writer : owner, 'writer'),
      (agent: Agent) => hide(agent, board, id, true),
      (agent: Agent) => hide(agent, board, id, false),
    ]
    for (const act of acts) {
      expect((await act(owner)).status).toBe(200)
      expect((await act(writer)).status).toBe(403)
    }
  })

  test('message recipient: can acknowledge; the sender and strangers cannot', async () => {
    const [alice, bob, carol] = await h.agents(3)
    const { body } = await got(alice.send(bob))
    const ack = (agent: Agent): Promise<HttpAnswer> => agent.post(`/v2/messages/${body.msg_id}/ack`)
    expectError(await ack(alice), 403, 'forbidden')
    expectError(await ack(carol), 404, 'not_found')
    expect(outcomeOf(await ack(bob))).toBe('200')
  })

  test('DM participant: can read it and its receipt; others cannot', async () => {
    const [alice, bob, carol] = await h.agents(3)
    const { body } = await got(alice.send(bob))
    for (const path of [`/v2/messages/${body.msg_id}`, `/v2/messages/${body.msg_id}/receipts`]) {
      expect([(await alice.get(path)).status, (await bob.get(path)).status]).toEqual([200, 200])
      expectError(await carol.get(path), 404, 'not_found')
    }
    expectError(await anonymous(`/v2/messages/${body.msg_id}`), 404, 'not_found')
  })
})
