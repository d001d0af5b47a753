/**
 * Rows of the specification's tables that no other end-to-end test covers: permissions, contents of resources, forms of
 * answers. Each runs over HTTP through the whole system.
 */
import { ERRORS } from '@svc/contracts/errors.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Agent, call, type HttpAnswer } from '../support/client/agent.ts'
import { got, outcomeOf, spendingOf } from '../support/client/answers.ts'
import { expectError } from '../support/client/expect-answer.ts'
import { idsOf, readList } from '../support/client/pages.ts'
import { type SharedHarness, shareHarness } from '../support/system/harness.ts'
import { startOperator } from '../support/system/operator.ts'

let h: SharedHarness
beforeAll(async () => {
  h = await shareHarness('roomy')
  return () => h[Symbol.asyncDispose]()
})

const anonymous = (path: string): Promise<HttpAnswer> => call(h.place, 'GET', path)

async function newBoard(owner: Agent, changes: object = {}): Promise<string> {
  const { body } = await got(owner.post('/v2/boards', { title: 'a board', visibility: 'public', ...changes }))
  return body.id
}

const setRole = (caller: Agent, board: string, agent: Agent, role: string): Promise<HttpAnswer> =>
  caller.put(`/v2/boards/${board}/members/${agent.id}`, { role })

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

describe('spec 12.1: success bodies', () => {
  test('registration: agent_id and address', async () => {
    const [alice] = await h.agents(1)
    const again = await alice.post('/v2/agents/register', {
      name: alice.name,
      pubkey: alice.pubkey,
      ...(await alice.solve()),
    })
    expect(again).toMatchObject({ status: 201 })
    expect(again.body).toEqual({ agent_id: alice.id, address: alice.address })
  })

  test('health: status, service and version', async () => {
    const { body } = await got(anonymous('/v2/health'))
    expect(body).toEqual({ status: 'ok', service: 'signed-agent-messaging', version: '2.0.0' })
  })

  test('vote: status and quota_bonus, when cast and when taken back', async () => {
    const [owner, reader] = await h.agents(2)
    const id = await post(owner, await newBoard(owner))
    expect((await got(reader.put(`/v2/messages/${id}/vote`))).body).toEqual({ status: 'voted', quota_bonus: 0 })
    expect((await got(reader.call('DELETE', `/v2/messages/${id}/vote`))).body).toEqual({
      status: 'removed',
      quota_bonus: 0,
    })
  })

  test('ack, revoke: a status', async () => {
    const [alice, bob] = await h.agents(2)
    const { body } = await got(alice.send(bob))
    expect((await got(bob.post(`/v2/messages/${body.msg_id}/ack`))).body).toEqual({ status: 'acked' })
    expect((await got(bob.post('/v2/me/revoke', { confirm_agent_id: bob.id }))).body).toEqual({ status: 'revoked' })
  })
})

describe('spec 8.1: the fields of a new board', () => {
  const title = (length: number): object => ({ title: '😀'.repeat(length), visibility: 'public' })
  const described = (length: number): object => ({ title: 't', visibility: 'public', description: '😀'.repeat(length) })
  const refused = '400 invalid_request'
  test.each<[string, object, string]>([
    ['a title of 1 character', title(1), '201'],
    ['a title of 120', title(120), '201'],
    ['a title of none', title(0), refused],
    ['a title of 121', title(121), refused],
    ['no title', { visibility: 'public' }, refused],
    ['an invalid title', { title: 1, visibility: 'public' }, refused],
    ['a description of none', described(0), '201'],
    ['a description of 2000', described(2000), '201'],
    ['a description of 2001', described(2001), refused],
    ['visibility public', { title: 't', visibility: 'public' }, '201'],
    ['visibility unlisted', { title: 't', visibility: 'unlisted' }, '201'],
    ['visibility private', { title: 't', visibility: 'private' }, '201'],
    ['another visibility', { title: 't', visibility: 'secret' }, refused],
    ['no visibility', { title: 't' }, refused],
    ['posting members', { title: 't', visibility: 'public', posting: 'members' }, '201'],
    ['posting anyone', { title: 't', visibility: 'public', posting: 'anyone' }, '201'],
    ['another posting', { title: 't', visibility: 'public', posting: 'nobody' }, refused],
    ['private with posting anyone', { title: 't', visibility: 'private', posting: 'anyone' }, refused],
  ])('%s', async (_, body, outcome) => {
    const [owner] = await h.agents(1)
    const answer = await owner.post('/v2/boards', body)
    expect(outcomeOf(answer)).toBe(outcome)
    const { units } = await spendingOf(owner)
    expect(units).toBe(outcome === '201' ? 10 : 0)
    if (outcome === '201')
      expect(answer.body).toMatchObject({ posting: 'members', description: '', ...body, owner: owner.id })
  })

  test('spec 8.1: they are fixed at creation; nothing changes a board', async () => {
    const [owner] = await h.agents(1)
    const board = await newBoard(owner)
    for (const method of ['PUT', 'PATCH', 'POST', 'DELETE']) {
      expectError(
        await owner.call(method, `/v2/boards/${board}`, { body: { visibility: 'private' } }),
        404,
        'not_found',
      )
    }
    expect((await got(anonymous(`/v2/boards/${board}`))).body.visibility).toBe('public')
  })

  test('spec 8.2: strangers list no unlisted board, but can read it if they know its id', async () => {
    const [owner, stranger] = await h.agents(2)
    const board = await newBoard(owner, { visibility: 'unlisted' })
    const listed = async (agent: Agent): Promise<string[]> => {
      const { body } = await got(agent.get(`/v2/boards?limit=100&after=${board.slice(0, 10)}`))
      return (body.boards as { id: string }[]).map(({ id }) => id)
    }
    expect(await listed(stranger)).not.toContain(board)
    expect(await listed(owner)).toContain(board)
    expect((await anonymous(`/v2/boards/${board}`)).status).toBe(200)
  })
})

describe('spec 8.5: roles', () => {
  test('only the owner assigns reader, writer, banned and none', async () => {
    const [owner, agent, other] = await h.agents(3)
    const board = await newBoard(owner)
    for (const role of ['reader', 'writer', 'banned', 'none']) {
      expectError(await setRole(other, board, agent, role), 403, 'forbidden')
      expect(await setRole(owner, board, agent, role)).toMatchObject({ status: 200, body: { role } })
      const { body } = await got(owner.get(`/v2/boards/${board}/members`))
      const roles = new Map(
        (body.members as { agent_id: string; role: string }[]).map((one) => [one.agent_id, one.role]),
      )
      expect(roles.get(agent.id)).toBe(role === 'none' ? undefined : role)
      expect(roles.get(owner.id)).toBe('owner')
    }
    expect((await spendingOf(owner)).units).toBe(10 + 1) // the board, and the agent that had no role before
  })

  test('a banned agent can neither write nor subscribe, but can read public boards', async () => {
    const [owner, banned] = await h.agents(2)
    const board = await newBoard(owner, { posting: 'anyone' })
    const id = await post(owner, board)
    await got(setRole(owner, board, banned, 'banned'))
    expectError(await banned.send(`board:${board}`), 403, 'forbidden')
    expectError(await setRole(banned, board, banned, 'reader'), 403, 'forbidden')
    expect(idsOf(await readList(banned, `/v2/boards/${board}/messages`))).toEqual([id])
  })
})

test('spec 8.5: the same PUT subscribes and leaves', async () => {
  const [owner, agent] = await h.agents(2)
  const board = await newBoard(owner)
  await got(setRole(agent, board, agent, 'reader'))
  await post(owner, board)
  expect((await got(agent.get('/v2/events'))).body.events).toMatchObject([{ cursor: 1, kind: 'board' }])
  await got(setRole(agent, board, agent, 'none'))
  await post(owner, board)
  expect((await got(agent.get('/v2/events?after=1'))).body).toMatchObject({ events: [] })
})

test('spec 8.1: the 21st board of an owner', async () => {
  const [owner] = await h.agents(1)
  for (let made = 0; made < 20; made += 1) await newBoard(owner)
  expectError(await owner.post('/v2/boards', { title: 't', visibility: 'public' }), 409, 'board_limit')
})

test('spec 6.2, 7.4: from is the signer; an id belongs to one envelope, whoever sends it', async () => {
  const [alice, bob, carol] = await h.agents(3)
  const envelope = alice.envelope(bob)
  expectError(await carol.post('/v2/messages', envelope), 403, 'sender_mismatch')
  expect(outcomeOf(await alice.post('/v2/messages', envelope))).toBe('202')
  expect(await alice.post('/v2/messages', envelope)).toMatchObject({ status: 200, body: { duplicate: true } })
  expectError(await alice.send(bob, 'other', { id: envelope.id }), 409, 'id_conflict')
  expectError(await carol.send(bob, 'hello', { id: envelope.id }), 409, 'id_conflict')
  expect((await spendingOf(alice)).units).toBe(1)
})

test('spec 8.9: a hidden post is in no feed, its owner reads it, and restoring brings it back', async () => {
  const [owner, author] = await h.agents(2)
  const board = await newBoard(owner, { posting: 'anyone' })
  const id = await post(author, board)
  const feed = async (agent: Agent): Promise<string[]> => idsOf(await readList(agent, `/v2/boards/${board}/messages`))
  expectError(await hide(author, board, id, true), 403, 'forbidden')
  expect((await got(hide(owner, board, id, true))).body).toEqual({ hidden: true })
  expect(await feed(owner)).toEqual([])
  expect((await owner.get(`/v2/messages/${id}`)).status).toBe(200)
  expectError(await author.get(`/v2/messages/${id}`), 404, 'not_found')
  expect((await got(hide(owner, board, id, false))).body).toEqual({ hidden: false })
  expect(await feed(author)).toEqual([id])
})

test("spec 8.10: one vote for each identity, none for the voter's own post", async () => {
  const [owner, reader] = await h.agents(2)
  const id = await post(owner, await newBoard(owner))
  const vote = (agent: Agent): Promise<HttpAnswer> => agent.put(`/v2/messages/${id}/vote`)
  expectError(await vote(owner), 403, 'own_post')
  expect([outcomeOf(await vote(reader)), outcomeOf(await vote(reader))]).toEqual(['200', '200'])
  expect((await got(reader.get(`/v2/messages/${id}`))).body.upvotes).toBe(1)
  expect((await spendingOf(reader)).units).toBe(1)
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
    await got(setRole(owner, board, writer, 'writer'))
    const id = await post(writer, board)
    const acts = [
      (agent: Agent) => agent.get(`/v2/boards/${board}/members`),
      (agent: Agent) => setRole(agent, board, agent === owner ? writer : owner, 'writer'),
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

test('spec 11.4: the operator grants credits, once for each reference', async () => {
  const [alice] = await h.agents(1)
  await using operator = await startOperator(h.system)
  expect(await operator.grant(alice.id, 7, `grant-${alice.id}`)).toEqual({ granted: true, credit_balance: 7 })
  expect(await operator.grant(alice.id, 7, `grant-${alice.id}`)).toEqual({ granted: false, credit_balance: 7 })
  await expect(operator.grant(alice.id, 8, `grant-${alice.id}`)).rejects.toMatchObject({ code: 'id_conflict' })
  expect((await spendingOf(alice)).credits).toBe(7)
})

test('spec 8.10, 11.6: a vote grants a bonus of zero units, and the budget says so', async () => {
  const [owner, voter] = await h.agents(2)
  const id = await post(owner, await newBoard(owner))
  const before = (await got(voter.get('/v2/budget'))).body
  expect((await got(voter.put(`/v2/messages/${id}/vote`))).body.quota_bonus).toBe(0)
  expect((await got(voter.get('/v2/budget'))).body).toEqual({ ...before, used_units: 1, vote_bonus: 0 })
})

test('spec 1.4: every version is 2.0.0, every path but that of the manifest is under /v2, signatures are SVC1', async () => {
  const [health, manifest, openapi] = await Promise.all(
    ['/v2/health', '/.well-known/agent.json', '/openapi.json'].map(async (path) => (await got(anonymous(path))).body),
  )
  expect([health.version, manifest.version, openapi.info.version]).toEqual(['2.0.0', '2.0.0', '2.0.0'])
  expect([manifest.api, manifest.signature.version]).toEqual(['/v2', 'SVC1'])
  expect(Object.keys(openapi.paths).filter((path) => !path.startsWith('/v2/'))).toEqual(['/.well-known/agent.json'])
})
