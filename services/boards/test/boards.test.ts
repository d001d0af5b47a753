import { createBoard, getBoard, listBoards } from '@svc/contracts/boards.ts'
import { LIMITS } from '@svc/contracts/limits.ts'
import type { BoardDetails } from '@svc/contracts/resources.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { boardId, RANDOM_BYTES } from '../src/domain/board-id.ts'
import { insertBoard, takeCreationTime } from '../src/store/boards.ts'
import { type Harness, newAgent, startHarness } from './harness.ts'

let h: Harness
beforeAll(async () => {
  h = await startHarness()
})
afterAll(() => h[Symbol.asyncDispose]())
afterEach(async () => {
  h.budget.refusal = undefined
  h.budget.beforeAnswer = () => {}
  await h.budget.up()
})

/** Reads all pages, as a client does. */
async function listAll(viewer: string | null, limit = 100): Promise<BoardDetails[]> {
  const all: BoardDetails[] = []
  for (let after = ''; ; ) {
    const page = await h.call(listBoards, { viewer, after, limit })
    all.push(...page.boards)
    if (page.next_cursor === '') return all
    expect(page.next_cursor).toBe(page.boards.at(-1)?.id)
    after = page.next_cursor
  }
}

const settled = (): Promise<unknown> => eventually(() => h.budget.held === 0, { what: 'the charge being settled' })

describe('spec 8.1: a new board', () => {
  test('spec 2.5: U+0000 and every other character survive a round trip', async () => {
    const text = `\0a\u0001"\\\u2028é😀${'\u0000'.repeat(3)}`
    const details = await h.create(newAgent(), { title: text, description: text })
    expect(details).toMatchObject({ title: text, description: text })
    expect(await h.call(getBoard, { viewer: null, board_id: details.id })).toEqual(details)
  })
})

describe('spec 11.2: creating a board costs 10 units', () => {
  test.each(['budget_exhausted', 'hard_limit_reached'] as const)('%s leaves no board', async (code) => {
    const owner = newAgent()
    h.budget.refusal = code
    const board = { title: 't', visibility: 'public' } as const
    expect(await h.codeOf(createBoard, { owner, board })).toBe(code)
    expect((await listAll(owner)).filter((one) => one.owner === owner)).toEqual([])
  })

  test('while budget is down boards can be read, but not created', async () => {
    const owner = newAgent()
    const { id } = await h.create(owner)
    await settled()
    await h.budget.down()
    expect(await h.codeOf(createBoard, { owner, board: { title: 't', visibility: 'public' } })).toBe('unavailable')
    expect(await h.call(getBoard, { viewer: null, board_id: id })).toMatchObject({ id })
    expect((await listAll(owner)).filter((one) => one.owner === owner)).toHaveLength(1)
  })
})

describe('spec 8.1: an owner has at most 20 boards', () => {
  test('spec 11.7: 50 concurrent creations over two processes: 20 succeed and are paid, the others are 409 board_limit', async () => {
    const owner = newAgent()
    const board = { title: 'one of many', visibility: 'private' } as const
    const codes = await Promise.all(Array.from({ length: 50 }, () => h.codeOf(createBoard, { owner, board })))
    expect(codes.filter((code) => code === 'ok')).toHaveLength(20)
    expect(codes.filter((code) => code === 'board_limit')).toHaveLength(30)
    expect((await listAll(owner)).filter((one) => one.owner === owner)).toHaveLength(20)
    await settled()
    expect(h.budget.usedBy(owner)).toBe(200)
  })

  test('spec 12.2: the twenty-first is refused without a call to budget', async () => {
    const owner = newAgent()
    for (let made = 0; made < 20; made += 1) await h.create(owner, { visibility: 'unlisted' })
    const asked = h.budget.reserved
    expect(await h.codeOf(createBoard, { owner, board: { title: 't', visibility: 'public' } })).toBe('board_limit')
    expect(h.budget.reserved).toBe(asked)
    // The boards of others do not count.
    await h.create(newAgent())
  })

  test('memberships do not count', async () => {
    const agent = newAgent()
    const owners = [newAgent(), newAgent()]
    for (const owner of owners) {
      for (let made = 0; made < 11; made += 1) {
        const { id } = await h.create(owner, { visibility: 'unlisted' })
        expect(await h.assign(id, agent, agent, 'reader')).toBe('ok')
      }
    }
    await h.create(agent)
  })
})

describe('spec 2.9: board ids sort by creation', () => {
  test('one after the other, and many at once', async () => {
    const owners = Array.from({ length: 40 }, newAgent)
    const first = await h.create(newAgent())
    const created = await Promise.all(owners.map((owner) => h.create(owner)))
    const last = await h.create(newAgent())
    for (const { id } of created) {
      expect(id > first.id).toBe(true)
      expect(id < last.id).toBe(true)
    }
    expect(new Set(created.map(({ id }) => id)).size).toBe(owners.length)
  })

  test('a board with an id exists before another one gets a later id', async () => {
    const [first, second] = [newAgent(), newAgent()]
    const order: string[] = []
    let creating: Promise<BoardDetails> | undefined
    const early = await h.database.transaction(async (tx) => {
      const id = boardId(await takeCreationTime(tx), new Uint8Array(RANDOM_BYTES))
      creating = h.create(second).finally(() => void order.push('second'))
      await eventually(waitsForALock, { what: 'the second creation waiting for the first' })
      await insertBoard(tx, {
        id,
        owner: first,
        title: 't',
        description: '',
        visibility: 'public',
        posting: 'members',
        created_at: 1,
      })
      order.push('first')
      return id
    })
    const late = await creating
    expect(order).toEqual(['first', 'second'])
    expect((late?.id ?? '') > early).toBe(true)
  })

  async function waitsForALock(): Promise<boolean> {
    const waiting = await h.admin.run(
      (sql) => sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return waiting.length > 0
  }

  test('after a clock is set back, new ids still sort after earlier ones', async () => {
    const ahead = (Date.now() + 3_600_000) * 1000
    await h.admin.run((sql) => sql`update boards.clock set created_us = ${ahead}`)
    const first = await h.create(newAgent())
    const second = await h.create(newAgent())
    expect(first.id > boardId(ahead, new Uint8Array(RANDOM_BYTES).fill(255))).toBe(true)
    expect(second.id > first.id).toBe(true)
  })

  test('a client that reads page after page while boards are created misses no board below its position', async () => {
    const owners = Array.from({ length: 60 }, newAgent)
    const seen: string[] = []
    let cursor = ''
    let done = false
    const creating = Promise.all(owners.map((owner) => h.create(owner))).finally(() => {
      done = true
    })
    while (!done) {
      const page = await h.call(listBoards, { viewer: null, after: cursor, limit: 7 })
      seen.push(...page.boards.map(({ id }) => id))
      cursor = page.boards.at(-1)?.id ?? cursor
    }
    await creating
    const all = (await listAll(null)).map(({ id }) => id)
    expect(seen).toEqual(all.filter((id) => id <= cursor))
  })
})

describe('spec 8.2, 8.3: the list of boards', () => {
  test('public boards, and boards of any visibility that the caller owns or joined and is not banned from, each once, by id', async () => {
    const [alice, bob] = [newAgent(), newAgent()]
    const boards = {
      open: await h.create(alice),
      hidden: await h.create(alice, { visibility: 'unlisted' }),
      closed: await h.create(alice, { visibility: 'private' }),
      written: await h.create(bob, { visibility: 'private' }),
      read: await h.create(bob, { visibility: 'unlisted' }),
      joined: await h.create(bob),
      barred: await h.create(bob, { visibility: 'unlisted' }),
      barredOpen: await h.create(bob),
      foreign: await h.create(bob, { visibility: 'private' }),
    }
    await h.assign(boards.written.id, bob, alice, 'writer')
    await h.assign(boards.read.id, alice, alice, 'reader')
    await h.assign(boards.joined.id, alice, alice, 'reader')
    await h.assign(boards.barred.id, bob, alice, 'banned')
    await h.assign(boards.barredOpen.id, bob, alice, 'banned')
    const namesFor = async (viewer: string | null, limit: number): Promise<string[]> => {
      const listed = (await listAll(viewer, limit)).map(({ id }) => id)
      expect(listed).toEqual(listed.toSorted())
      expect(new Set(listed).size).toBe(listed.length)
      return Object.entries(boards).flatMap(([name, { id }]) => (listed.includes(id) ? [name] : []))
    }
    for (const limit of [1, 2, 3, 100]) {
      expect(await namesFor(null, limit)).toEqual(['open', 'joined', 'barredOpen'])
      expect(await namesFor(alice, limit)).toEqual([
        'open',
        'hidden',
        'closed',
        'written',
        'read',
        'joined',
        'barredOpen',
      ])
      expect(await namesFor(newAgent(), limit)).toEqual(['open', 'joined', 'barredOpen'])
    }
    await h.assign(boards.read.id, alice, alice, 'none')
    expect(await namesFor(alice, 100)).not.toContain('read')
  })

  test('spec 7.9: after is a position in the order of ids and need not exist', async () => {
    const { id } = await h.create(newAgent())
    const from = async (after: string): Promise<string[]> =>
      (await h.call(listBoards, { viewer: null, after, limit: 100 })).boards.map((board) => board.id)
    expect(await from(id)).not.toContain(id)
    expect((await from(id.slice(0, -1)))[0]).toBe(id)
    expect(await from(`${id}\0`)).not.toContain(id)
    expect(await from('\0')).toEqual(await from(''))
    for (const beyond of ['~', 'zzzz', '😀']) expect(await from(beyond)).toEqual([])
  })

  test('spec 7.9: a page of hostile descriptions is shorter, and none is lost', async () => {
    const owners = Array.from({ length: 5 }, newAgent)
    const description = '\u0001'.repeat(LIMITS.boardDescriptionCharacters)
    const ids: string[] = []
    for (const owner of owners) {
      for (let made = 0; made < 20; made += 1) {
        ids.push((await h.create(owner, { title: '\u0001'.repeat(120), description })).id)
      }
    }
    const before = ids[0]?.slice(0, -1) ?? ''
    const page = await h.call(listBoards, { viewer: null, after: before, limit: 100 })
    expect(page.boards[0]?.id).toBe(ids[0])
    expect(page.boards.length).toBeLessThan(100)
    expect(page.next_cursor).not.toBe('')
    const listed = (await listAll(null)).map(({ id }) => id)
    expect(listed.filter((id) => ids.includes(id))).toEqual(ids)
  }, 60_000)
})
