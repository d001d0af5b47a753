import { createBoard, listMembers, setMember } from '@svc/contracts/boards.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { endingOf } from '@svc/test/support/system/dying.ts'
import { describe, expect, test } from 'vitest'
import { type Harness, newAgent, startHarness } from './harness.ts'

const CALL_TIMEOUT_MS = 10_000
/** How long budget holds an unsettled reservation: long enough to commit, and short because tests wait for it to end. */
const HOLD_MS = 5_000
const RESOLVED_MS = 40_000
const LIMIT_MS = 120_000

const PLACES = ['charging.boards.reserved', 'charging.boards.committed', 'charging.boards.settled']

/** Starts a process that dies at the failpoint, as the only one that serves. */
async function startDying(
  place: string,
  prepare: (h: Harness) => Promise<void> = async () => {},
): Promise<{ h: Harness; diesOf: (ask: () => Promise<string>) => Promise<string> }> {
  const h = await startHarness({ replicas: 0, callTimeoutMs: CALL_TIMEOUT_MS })
  const first = await h.start()
  await prepare(h)
  await eventually(() => h.budget.held === 0)
  await first[Symbol.asyncDispose]()
  h.budget.holdMs = HOLD_MS
  const dying = await h.spawn({ SVC_FAILPOINTS: `${place}=kill` })
  const diesOf = async (ask: () => Promise<string>): Promise<string> => {
    const ending = await endingOf(dying, ask)
    h.budget.holdMs = undefined
    return ending
  }
  return { h, diesOf }
}

async function untilCharged(h: Harness, agent: string, units: number): Promise<void> {
  await eventually(() => h.budget.held === 0 && h.budget.usedBy(agent) === units, {
    timeoutMs: RESOLVED_MS,
    what: `${units} units being charged for good`,
  })
}

describe('spec 12.3; ADR 21: a process killed between any two steps of a creation', () => {
  test.concurrent.each(PLACES)(
    '%s: the board is created and its 10 units are charged, or neither',
    async (place) => {
      const { h, diesOf } = await startDying(place)
      await using _ = h
      const owner = newAgent()
      const board = { title: 't', visibility: 'public' } as const
      expect(await diesOf(() => h.codeOf(createBoard, { owner, board }))).toBe('signal SIGKILL')
      await h.start()
      const [row] = await h.database.run(
        (sql) => sql<{ boards: number; members: number }[]>`
        select (select count(*) from boards.boards where owner = ${owner}) as boards,
          (select count(*) from boards.memberships where agent_id = ${owner} and role = 'owner') as members`,
      )
      expect(row?.boards).toBe(place === 'charging.boards.reserved' ? 0 : 1)
      expect(row?.members).toBe(row?.boards)
      await untilCharged(h, owner, (row?.boards ?? 0) * 10)
    },
    LIMIT_MS,
  )
})

describe('spec 12.3; ADR 21: a process killed between any two steps of an addition', () => {
  test.concurrent.each(PLACES)(
    '%s: the record is added and its unit is charged, or neither; with a repeat there is one charge',
    async (place) => {
      const [owner, agent] = [newAgent(), newAgent()]
      let id = ''
      const { h, diesOf } = await startDying(place, async (one) => {
        id = (await one.create(owner)).id
      })
      await using _ = h
      expect(await diesOf(() => h.assign(id, agent, agent, 'reader'))).toBe('signal SIGKILL')
      await h.start()
      const { members } = await h.call(listMembers, { caller: owner, board_id: id })
      await untilCharged(h, agent, members.length - 1)
      const request = { caller: agent, board_id: id, agent_id: agent, standing: 'active', role: 'reader' } as const
      expect(await h.call(setMember, request)).toEqual({ role: 'reader' })
      await untilCharged(h, agent, 1)
    },
    LIMIT_MS,
  )
})

describe('SIGTERM', () => {
  test.concurrent(
    'ends the process with code 0, and another one continues',
    async () => {
      const h = await startHarness({ replicas: 1 })
      await using _ = h
      const child = await h.spawn()
      expect(await child.stop()).toMatchObject({ code: 0 })
      await h.create(newAgent())
    },
    LIMIT_MS,
  )
})
