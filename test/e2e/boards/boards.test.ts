/** Boards and memberships for every kind of caller (spec 8.1, 8.2, 8.3, 8.5, 8.7, 8.8). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Agent, call, type HttpAnswer } from '../../support/client/agent.ts'
import { got, outcomeOf, spendingOf } from '../../support/client/answers.ts'
import { newBoard, putRole, type Role, rolesOf, type Staffed, staffedBoard } from '../../support/client/boards.ts'
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

  test('spec 8.1: any listed visibility, by default with posting members and an empty description; no other', async () => {
    const [alice] = await h.agents(1)
    for (const visibility of ['public', 'unlisted', 'private']) {
      const { body } = await got(create(alice, { title: 't', visibility }))
      expect(body).toMatchObject({ visibility, posting: 'members', description: '' })
    }
    expectError(await create(alice, { title: 't', visibility: 'secret' }), 400, 'invalid_request')
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
