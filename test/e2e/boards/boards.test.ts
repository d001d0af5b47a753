/** Boards and memberships for every kind of caller (spec 8.1, 8.2, 8.3, 8.5, 8.7, 8.8). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Agent, call, type HttpAnswer } from '../../support/client/agent.ts'
import { got, outcomeOf, spendingOf } from '../../support/client/answers.ts'
import {
  newBoard,
  type Posting,
  putRole,
  type Role,
  rolesOf,
  type Staffed,
  staffedBoard,
  subscribe,
  type Visibility,
} from '../../support/client/boards.ts'
import { expectError } from '../../support/client/expect-answer.ts'
import { type SharedHarness, shareHarness } from '../../support/system/harness.ts'

const ABSENT = '00000000000000000000'

let h: SharedHarness
beforeAll(async () => {
  h = await shareHarness('roomy')
})
afterAll(() => h[Symbol.asyncDispose]())

const create = (owner: Agent, board: unknown): Promise<HttpAnswer> => owner.post('/v2/boards', board)

describe('spec 8.1: the body that creates a board', () => {
  test('201 with every field of BoardDetails; both gateways return the same board, signed or not', async () => {
    const [alice] = await h.agents(1)
    const board = { title: 'Plans', description: 'of ours', visibility: 'unlisted', posting: 'anyone' }
    const askedSeconds = Math.floor(Date.now() / 1000)
    const answer = await create(alice, board)
    expect(answer.status).toBe(201)
    const { id, created_at } = answer.body
    expect(answer.body).toStrictEqual({ id, owner: alice.id, ...board, created_at })
    expect(id).toMatch(/^[a-z0-9]{20,40}$/) // the form of a board id (spec 2.9)
    // The database's clock may differ a little from this one.
    expect(created_at).toBeGreaterThan(askedSeconds - 5)
    expect(created_at).toBeLessThan(Date.now() / 1000 + 5)
    for (const url of h.system.urls) {
      expect((await call({ ...h.place, url }, 'GET', `/v2/boards/${id}`)).body).toStrictEqual(answer.body)
      expect((await alice.get(`/v2/boards/${id}`, { url })).body).toStrictEqual(answer.body)
    }
  })

  test('spec 8.1: posting defaults to members, and the description to an empty text', async () => {
    const [alice] = await h.agents(1)
    for (const visibility of ['public', 'unlisted', 'private']) {
      expect((await create(alice, { title: 't', visibility })).body).toMatchObject({
        visibility,
        posting: 'members',
        description: '',
      })
    }
  })

  const fine = { title: 't', visibility: 'public' }
  test.each<[string, unknown, string]>([
    ['spec 2.11: a title of 120 code points in 240 UTF-16 units', { ...fine, title: '😀'.repeat(120) }, '201'],
    ['spec 2.11: a title of 121 code points', { ...fine, title: '😀'.repeat(121) }, '400 invalid_request'],
    ['spec 8.1: another visibility', { ...fine, visibility: 'secret' }, '400 invalid_request'],
    ['spec 8.1: another posting mode', { ...fine, posting: 'nobody' }, '400 invalid_request'],
    ['spec 2.7: an undeclared member', { ...fine, owner: 'x' }, '400 invalid_request'],
    ['spec 8.1: private with anyone', { ...fine, visibility: 'private', posting: 'anyone' }, '400 invalid_request'],
  ])('%s', async (_, board, outcome) => {
    const [alice] = await h.agents(1)
    const answer = await create(alice, board)
    expect(outcomeOf(answer)).toBe(outcome)
    if (outcome === '201') expect(answer.body).toMatchObject(board as object)
    const { body } = await got(alice.get('/v2/boards?limit=100'))
    const own = (body.boards as { owner: string }[]).filter(({ owner }) => owner === alice.id)
    // A public board may be on a later page. A refused board is not on any page.
    if (outcome !== '201') expect(own).toEqual([])
    // spec 11.2: creating a board costs 10 units; spec 11.3: a refused creation leaves no trace.
    expect((await spendingOf(alice)).units).toBe(outcome === '201' ? 10 : 0)
  })

  test('spec 12.1: creating needs a signature', async () => {
    expectError(await call(h.place, 'POST', '/v2/boards', { body: fine }), 401, 'unauthenticated')
  })
})

/** Callers by their role on the board. `anonymous` sends no signature. */
const STANDINGS = ['owner', 'writer', 'reader', 'banned', 'none', 'anonymous'] as const
type Standing = (typeof STANDINGS)[number]

function ask(board: Staffed, standing: Standing, method: string, path: string, body?: unknown): Promise<HttpAnswer> {
  const options = body === undefined ? {} : { body }
  return standing === 'anonymous' ? call(h.place, method, path, options) : board[standing].call(method, path, options)
}

// services/boards/src/domain/access.test.ts and role-change.test.ts cover every kind of board and every change of a role.
describe('the matrix of spec 8.2 to 8.7 on a public board where anyone may post', () => {
  let board: Staffed
  beforeAll(async () => {
    board = await staffedBoard(h, 'public', 'anyone')
  })

  /** The expected answer for each role, in the order of STANDINGS. */
  const rows = (outcomes: readonly string[]): (readonly [Standing, string])[] =>
    STANDINGS.map((standing, at) => [standing, outcomes[at] ?? ''])
  test.each(STANDINGS)('spec 8.2, 8.3: GET the board by %s', async (standing) => {
    expect(outcomeOf(await ask(board, standing, 'GET', `/v2/boards/${board.boardId}`))).toBe('200')
  })

  const refused = '403 forbidden'
  test.each(rows(['200', refused, refused, refused, refused, '401 unauthenticated']))(
    'spec 8.3: GET its members by %s: %s',
    async (standing, outcome) => {
      expect(outcomeOf(await ask(board, standing, 'GET', `/v2/boards/${board.boardId}/members`))).toBe(outcome)
    },
  )

  test.each(rows(['202', '202', '202', refused, '202']).slice(0, 5))(
    'spec 8.4: POST to it by %s: %s',
    async (standing, outcome) => {
      if (standing === 'anonymous') throw new Error('an anonymous caller cannot sign a post')
      expect(outcomeOf(await board[standing].send(`board:${board.boardId}`))).toBe(outcome)
    },
  )

  describe('a post of a writer', () => {
    let post: string
    beforeAll(async () => {
      const before = await spendingOf(board.writer)
      const answer = await got(board.writer.send(`board:${board.boardId}`, 'hello'))
      post = answer.body.msg_id
      expect(answer.body.lane).toBe('board')
      // spec 8.8: owner and reader get the event; the author and banned agents do not.
      expect((await spendingOf(board.writer)).units - before.units).toBe(2)
    })

    test.each(STANDINGS)('spec 8.2: the feed, and the post by id, by %s', async (standing) => {
      const feed = await ask(board, standing, 'GET', `/v2/boards/${board.boardId}/messages`)
      expect(JSON.stringify(feed.body.messages)).toContain(post)
      expect(outcomeOf(await ask(board, standing, 'GET', `/v2/messages/${post}`))).toBe('200')
    })

    test.each(rows(['200', '403 own_post', '200', refused, '200', '401 unauthenticated']))(
      'spec 8.10: a vote for it by %s: %s',
      async (standing, outcome) => {
        expect(outcomeOf(await ask(board, standing, 'PUT', `/v2/messages/${post}/vote`))).toBe(outcome)
      },
    )

    test('spec 8.8, 9.2: owner and reader get an event, and nobody else does', async () => {
      for (const standing of ['owner', 'writer', 'reader', 'banned', 'none'] as const) {
        const { body } = await got(board[standing].get('/v2/events?limit=100'))
        const has = JSON.stringify(body.events).includes(post)
        expect({ standing, has }).toEqual({ standing, has: standing === 'owner' || standing === 'reader' })
      }
    })

    // Comes last, because nobody sees the post afterwards.
    test.each(rows(['200', refused, refused, refused, refused, '401 unauthenticated']).toReversed())(
      'spec 8.9: hiding it by %s: %s',
      async (standing, outcome) => {
        const path = `/v2/boards/${board.boardId}/messages/${post}/visibility`
        expect(outcomeOf(await ask(board, standing, 'PUT', path, { hidden: true }))).toBe(outcome)
      },
    )

    test('spec 8.9: a hidden post is visible only to the owner and only by its id, and is on no feed', async () => {
      for (const standing of STANDINGS) {
        const outcome = standing === 'owner' ? '200' : '404 not_found'
        expect(outcomeOf(await ask(board, standing, 'GET', `/v2/messages/${post}`))).toBe(outcome)
        const feed = await ask(board, standing, 'GET', `/v2/boards/${board.boardId}/messages`)
        expect(JSON.stringify(feed.body)).not.toContain(post)
      }
    })
  })

  const ROLES: readonly Role[] = ['reader', 'writer', 'banned', 'none']
  test('spec 8.5: the owner cannot set its own role', async () => {
    for (const role of ROLES) {
      expectError(await putRole(board.owner, board.boardId, board.owner, role), 409, 'owner_role')
    }
  })

  test('spec 8.5, 8.7: an agent subscribes to a board that it may read, for 1 unit, and leaves for free; it cannot make itself a writer', async () => {
    const [agent] = await h.agents(1)
    const set = async (role: Role): Promise<string> => {
      const answer = await putRole(agent, board.boardId, agent, role)
      if (answer.status === 200) expect(answer.body).toStrictEqual({ role })
      return `${outcomeOf(answer)}, ${(await spendingOf(agent)).units} in all`
    }
    const outcomes = [await set('reader'), await set('reader'), await set('writer'), await set('none')]
    expect(outcomes).toEqual(['200, 1 in all', '200, 1 in all', '403 forbidden, 1 in all', '200, 1 in all'])
  })

  test('spec 8.5, 8.7: the owner assigns every role, and pays 1 unit for a reader or writer whose role was none or banned', async () => {
    const [agent] = await h.agents(1)
    const steps: [Role, number][] = [
      ['reader', 1],
      ['reader', 0],
      ['writer', 0],
      ['banned', 0],
      ['writer', 1],
      ['none', 0],
    ]
    for (const [role, units] of steps) {
      const before = await spendingOf(board.owner)
      const answer = await got(putRole(board.owner, board.boardId, agent, role))
      expect(answer.body).toStrictEqual({ role })
      expect(await spendingOf(board.owner)).toEqual({ ...before, units: before.units + units })
      expect((await rolesOf(board.owner, board.boardId))[agent.id] ?? 'none').toBe(role)
    }
    expect((await spendingOf(agent)).units).toBe(0)
  })
})

test('spec 8.6: an owner cannot add or promote an agent that has blocked it, but may lower it; the agent may subscribe', async () => {
  const [owner, agent] = await h.agents(2)
  const boardId = await newBoard(owner)
  const set = async (role: Role, caller = owner): Promise<string> =>
    outcomeOf(await putRole(caller, boardId, agent, role))
  const block = (state: string): Promise<HttpAnswer> => got(agent.put(`/v2/contacts/${owner.id}`, { state }))
  const denied = '403 admission_denied'

  await block('blocked')
  const before = await spendingOf(owner)
  expect([await set('reader'), await set('writer')]).toEqual([denied, denied])
  expect(await spendingOf(owner)).toEqual(before)
  expect(await rolesOf(owner, boardId)).toEqual({ [owner.id]: 'owner' })
  expect([await set('reader', agent), await set('reader'), await set('writer')]).toEqual(['200', '200', denied])
  expect([await set('banned'), await set('reader'), await set('none')]).toEqual(['200', denied, '200'])
  await block('none')
  expect(await set('writer')).toBe('200')
  await block('blocked')
  expect(await rolesOf(owner, boardId)).toMatchObject({ [agent.id]: 'writer' })
  expect([await set('reader'), await set('writer')]).toEqual(['200', denied])
})

test.each(['banned', 'none', 'anonymous'] as const)(
  'spec 7.16, 8.2: a private board does not exist for %s',
  async (standing) => {
    const board = await staffedBoard(h, 'private', 'members')
    const path = `/v2/boards/${board.boardId}`
    const post = (await got(board.writer.send(`board:${board.boardId}`, 'hello'))).body.msg_id
    const open = ['', '/messages'].map((end) => path + end)
    for (const target of [...open, `/v2/messages/${post}`]) {
      expect(outcomeOf(await ask(board, standing, 'GET', target))).toBe('404 not_found')
    }
    const signed: [method: string, target: string, body?: unknown][] = [
      ['GET', `${path}/members`],
      ['PUT', `/v2/messages/${post}/vote`],
      ['PUT', `${path}/messages/${post}/visibility`, { hidden: true }],
      ['PUT', `${path}/members/${board.none.id}`, { role: 'reader' }],
    ]
    const refusal = standing === 'anonymous' ? '401 unauthenticated' : '404 not_found'
    for (const [method, target, body] of signed) {
      expect(outcomeOf(await ask(board, standing, method, target, body))).toBe(refusal)
    }
    if (standing === 'anonymous') return
    expect(outcomeOf(await board[standing].send(`board:${board.boardId}`))).toBe('404 not_found')
    expect((await spendingOf(board[standing])).units).toBe(0)
  },
)

describe('spec 8.3: the members of a board', () => {
  test('spec 8.3: owner, writers, readers and banned agents are listed, with exactly agent_id and role', async () => {
    const { boardId, owner, writer, reader, banned } = await staffedBoard(h, 'private', 'members')
    const { body } = await got(owner.get(`/v2/boards/${boardId}/members`))
    const expected = [
      { agent_id: owner.id, role: 'owner' },
      { agent_id: writer.id, role: 'writer' },
      { agent_id: reader.id, role: 'reader' },
      { agent_id: banned.id, role: 'banned' },
    ]
    const byId = (a: { agent_id: string }, b: { agent_id: string }): number => (a.agent_id < b.agent_id ? -1 : 1)
    expect(body).toStrictEqual({ members: expected.sort(byId) })
  })

  test('spec 3.11, 8.6: an unknown agent and a malformed id are 404, and cost nothing', async () => {
    const [alice, bob] = await h.agents(2)
    const boardId = await newBoard(alice)
    for (const agent of ['3HhGPB6ht33n51YFaocqBtGePb3xqT4VgnjYbd81eeZW', 'nobody', `${bob.id}x0`]) {
      for (const role of ['reader', 'banned', 'none']) {
        expectError(await alice.put(`/v2/boards/${boardId}/members/${agent}`, { role }), 404, 'not_found')
      }
    }
    expect((await spendingOf(alice)).units).toBe(10)
  })
})

describe('spec 7.16: absent and invisible things get one answer, byte for byte', () => {
  test('spec 8.2: a private board, an unknown one, and a malformed id', async () => {
    const { boardId, none, banned } = await staffedBoard(h, 'private', 'members')
    const [other] = await h.agents(1)
    const paths = (id: string): [string, string, unknown?][] => [
      ['GET', `/v2/boards/${id}`],
      ['GET', `/v2/boards/${id}/members`],
      ['PUT', `/v2/boards/${id}/members/${other.id}`, { role: 'reader' }],
      ['PUT', `/v2/boards/${id}/members/${none.id}`, { role: 'reader' }],
    ]
    for (const caller of [none, banned]) {
      const answers = await Promise.all(
        [boardId, ABSENT, 'no-board'].flatMap((id) =>
          paths(id).map(([method, path, body]) => caller.call(method, path, body === undefined ? {} : { body })),
        ),
      )
      for (const answer of answers) {
        expectError(answer, 404, 'not_found')
        expect(answer.text).toBe(answers[0]?.text)
        expect([...answer.headers.keys()].sort()).toEqual([...(answers[0]?.headers.keys() ?? [])].sort())
      }
      // Posting to a board that the caller may not read gets the same answer (spec 8.4).
      const posts = await Promise.all([boardId, ABSENT].map((id) => caller.send(`board:${id}`)))
      for (const post of posts) {
        expectError(post, 404, 'not_found')
        expect(post.text).toBe(answers[0]?.text)
      }
    }
    const anonymous = await Promise.all([boardId, ABSENT].map((id) => call(h.place, 'GET', `/v2/boards/${id}`)))
    expect(anonymous[0]?.text).toBe(anonymous[1]?.text)
  })
})

describe('spec 7.9, 8.3: the list of boards', () => {
  interface Listed {
    id: string
    visibility: string
    owner: string
  }

  async function listAll(caller: Agent | null, limit: number): Promise<Listed[]> {
    const all: Listed[] = []
    for (let after = ''; ; ) {
      const path = `/v2/boards?limit=${limit}&after=${after}`
      const { body } = await got(caller === null ? call(h.place, 'GET', path) : caller.get(path))
      expect(body.boards.length).toBeLessThanOrEqual(limit)
      all.push(...body.boards)
      if (body.next_cursor === '') return all
      after = body.next_cursor
    }
  }

  test('public boards for all agents, and the boards that the caller owns or joined, page by page, each once and by id', async () => {
    const [alice, bob] = await h.agents(2)
    const made = {
      open: await newBoard(alice),
      quiet: await newBoard(alice, { visibility: 'unlisted' }),
      closed: await newBoard(alice, { visibility: 'private' }),
      joined: await newBoard(bob, { visibility: 'unlisted' }),
      invited: await newBoard(bob, { visibility: 'private' }),
      barred: await newBoard(bob, { visibility: 'unlisted' }),
      foreign: await newBoard(bob, { visibility: 'private' }),
    }
    await subscribe(alice, made.joined)
    await got(putRole(bob, made.invited, alice, 'writer'))
    await got(putRole(bob, made.barred, alice, 'banned'))
    const namesFor = async (caller: Agent | null, limit: number): Promise<string[]> => {
      const ids = (await listAll(caller, limit)).map(({ id }) => id)
      expect(ids).toEqual(ids.toSorted())
      expect(new Set(ids).size).toBe(ids.length)
      return Object.entries(made).flatMap(([name, id]) => (ids.includes(id) ? [name] : []))
    }
    for (const limit of [3, 100]) {
      expect(await namesFor(alice, limit)).toEqual(['open', 'quiet', 'closed', 'joined', 'invited'])
      expect(await namesFor(bob, limit)).toEqual(['open', 'joined', 'invited', 'barred', 'foreign'])
      expect(await namesFor(null, limit)).toEqual(['open'])
    }
    expect((await listAll(null, 100)).every(({ visibility }) => visibility === 'public')).toBe(true)
  })
})

describe('spec 5.11, 8.5: revocation', () => {
  const revoke = (agent: Agent): Promise<HttpAnswer> => got(agent.post('/v2/me/revoke', { confirm_agent_id: agent.id }))

  test.each<[Visibility, Posting]>([
    ['public', 'members'],
    ['private', 'members'],
  ])(
    'spec 8.5: a %s board whose owner is revoked stays up, and no agent can change it',
    async (visibility, posting) => {
      const { boardId, owner, writer, reader, none } = await staffedBoard(h, visibility, posting)
      await revoke(owner)
      expect((await got(reader.get(`/v2/boards/${boardId}`))).body.owner).toBe(owner.id)
      expect(outcomeOf(await writer.send(`board:${boardId}`))).toBe('202')
      expect(outcomeOf(await putRole(none, boardId, none, 'reader'))).toBe(
        visibility === 'public' ? '200' : '404 not_found',
      )
      expect(outcomeOf(await putRole(reader, boardId, reader, 'none'))).toBe('200')
      expectError(await putRole(owner, boardId, writer, 'none'), 401, 'signer_revoked')
      expectError(await putRole(writer, boardId, owner, 'none'), 403, 'forbidden')
      expectError(await writer.get(`/v2/boards/${boardId}/members`), 403, 'forbidden')
    },
  )

  test('spec 8.6, 8.7: a revoked agent cannot become a reader or writer, and keeps its role until it is removed', async () => {
    const [alice, bob, carol] = await h.agents(3)
    const boardId = await newBoard(alice)
    await got(putRole(alice, boardId, bob, 'reader'))
    await revoke(bob)
    await revoke(carol)
    const before = await spendingOf(alice)
    for (const role of ['reader', 'writer'] as const) {
      expectError(await putRole(alice, boardId, carol, role), 409, 'agent_revoked')
    }
    expect(await spendingOf(alice)).toEqual(before)
    expect(await rolesOf(alice, boardId)).toEqual({ [alice.id]: 'owner', [bob.id]: 'reader' })
    await got(putRole(alice, boardId, bob, 'reader')) // the role that it already has
    await got(putRole(alice, boardId, carol, 'banned'))
    await got(putRole(alice, boardId, bob, 'none'))
    expect(await rolesOf(alice, boardId)).toEqual({ [alice.id]: 'owner', [carol.id]: 'banned' })
  })
})
