import * as calls from '@svc/contracts/boards.ts'
import { LIMITS } from '@svc/contracts/limits.ts'
import type { BoardVisibility } from '@svc/contracts/resources.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { takedownBoard } from '../src/handlers/takedown-board.ts'
import { type Harness, newAgent, startHarness } from './harness.ts'

let h: Harness
beforeAll(async () => {
  h = await startHarness()
})
afterAll(() => h[Symbol.asyncDispose]())

const NOTHING = { may_read: false, open: false, may_post: false, may_vote: false, may_moderate: false, subscribers: [] }
const VISIBILITIES: BoardVisibility[] = ['public', 'unlisted', 'private']

function change(board_id: string, takenDown: boolean, dry_run = false) {
  const request = { board_id, dry_run, reason: 'spam', reference: 'INC-17' }
  return takedownBoard({ database: h.database }, request, { operator: 'olivia' }, takenDown)
}

/** A board with an owner and a reader. */
async function startScene(visibility: BoardVisibility = 'public') {
  const [owner, reader] = [newAgent(), newAgent()]
  const { id } = await h.create(owner, { visibility })
  expect(await h.assign(id, owner, reader, 'reader')).toBe('ok')
  return { owner, reader, id }
}
type Scene = Awaited<ReturnType<typeof startScene>>

/** For each call that answers about a board: the answers to its owner and a reader, and what they are if it is taken down. */
const ANSWERS: Record<string, (s: Scene) => [answer: Promise<unknown>, down: unknown][]> = {
  getBoard: ({ owner, reader, id }) =>
    [owner, reader].map((viewer) => [h.codeOf(calls.getBoard, { viewer, board_id: id }), 'not_found']),
  listBoards: ({ owner, reader }) =>
    [owner, reader].map((viewer) => [
      h
        .call(calls.listBoards, { viewer, after: '', limit: 100 })
        .then(({ boards }) => boards.filter((board) => board.owner === owner).map((board) => board.id)),
      [],
    ]),
  listMembers: ({ owner, id }) => [[h.codeOf(calls.listMembers, { caller: owner, board_id: id }), 'not_found']],
  setMember: ({ owner, reader, id }) => [
    [h.assign(id, owner, reader, 'reader'), 'not_found'],
    [h.assign(id, reader, reader, 'reader'), 'not_found'],
  ],
  judgeAccess: ({ owner, reader, id }) =>
    [owner, reader, null].map((viewer) => [
      h.call(calls.judgeAccess, { board_id: id, viewer, with_subscribers: true }),
      NOTHING,
    ]),
  judgeBoards: ({ owner, reader, id }) =>
    [owner, reader].map((agent_id) => [
      h.call(calls.judgeBoards, { agent_id, board_ids: [id] }),
      { readable: [], open: [] },
    ]),
  listSubscribers: ({ id }) => [[h.call(calls.listSubscribers, { board_id: id }), { open: false, subscribers: [] }]],
}

test('every call of boards is in the table, or known not to answer about a board', () => {
  const defined = Object.entries(calls).flatMap(([name, call]) => ('subject' in Object(call) ? [name] : []))
  expect([...Object.keys(ANSWERS), 'createBoard', 'noteBlock'].toSorted()).toEqual(defined.toSorted())
})

describe.each(VISIBILITIES)('spec 12.4: a %s board that is taken down is absent for everybody', (visibility) => {
  test.each(Object.keys(ANSWERS))('%s', async (name) => {
    const scene = await startScene(visibility)
    const answers = async () => {
      const rows = ANSWERS[name]?.(scene) ?? []
      return { found: await Promise.all(rows.map(([answer]) => answer)), down: rows.map(([, down]) => down) }
    }
    const before = await answers()
    for (const [at, found] of before.found.entries()) {
      const isAbsentAnyway = visibility === 'private' && name === 'judgeAccess' && at === 2
      if (!isAbsentAnyway) expect(found).not.toEqual(before.down[at])
    }
    await change(scene.id, true)
    const during = await answers()
    expect(during.found).toEqual(during.down)
    await change(scene.id, false)
    expect((await answers()).found).toEqual(before.found)
  })
})

test('spec 8.1: it still counts towards its owner’s limit of boards', async () => {
  const owner = newAgent()
  const board = { title: 'a board', visibility: 'public' } as const
  const made = []
  for (let count = 0; count < LIMITS.boardsPerOwner; count += 1) made.push(await h.create(owner))
  await change(made[0]?.id ?? '', true)
  expect(await h.codeOf(calls.createBoard, { owner, board })).toBe('board_limit')
  const { boards } = await h.call(calls.listBoards, { viewer: owner, after: '', limit: 100 })
  expect(boards.filter((one) => one.owner === owner)).toHaveLength(LIMITS.boardsPerOwner - 1)
})

test('each change is one row of the audit; a repeat and a dry run write none; an unknown board is not found', async () => {
  const { id } = await startScene()
  const audited = () =>
    h.database.run(
      (sql) => sql`
        select operator, action, reference, reason, result from boards.audit where target = ${id} order by id`,
    )
  expect(await change(id, true, true)).toEqual({ changed: true })
  expect(await audited()).toEqual([])
  const answers = await Promise.all(Array.from({ length: 4 }, () => change(id, true)))
  expect(answers.filter(({ changed }) => changed)).toHaveLength(1)
  expect(await change(id, true, true)).toEqual({ changed: false })
  expect(await change(id, false)).toEqual({ changed: true })
  expect(await change(id, false)).toEqual({ changed: false })
  const row = { operator: 'olivia', reference: 'INC-17', reason: 'spam', result: { kind: 'board' } }
  expect(await audited()).toEqual([
    { ...row, action: 'takedown' },
    { ...row, action: 'restore' },
  ])
  await expect(change('0'.repeat(20), true)).rejects.toMatchObject({ code: 'not_found' })
})
