import { judgeAccess, listMembers, noteBlock, setMember } from '@svc/contracts/boards.ts'
import type { MemberEntry } from '@svc/contracts/resources.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type Harness, newAgent, newAgents, startHarness } from './harness.ts'

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

async function membersOf(boardId: string, owner: string): Promise<MemberEntry[]> {
  return (await h.call(listMembers, { caller: owner, board_id: boardId })).members
}

async function roleOf(boardId: string, owner: string, agentId: string): Promise<string> {
  return (await membersOf(boardId, owner)).find((one) => one.agent_id === agentId)?.role ?? 'none'
}

describe('spec 8.5, 8.7: roles and their costs', () => {
  test.each(['budget_exhausted', 'hard_limit_reached'] as const)('%s: no member is added', async (code) => {
    const [owner, agent, other] = [newAgent(), newAgent(), newAgent()]
    const { id } = await h.create(owner)
    h.budget.refusal = code
    expect(await h.assign(id, agent, agent, 'reader')).toBe(code)
    expect(await h.assign(id, owner, other, 'writer')).toBe(code)
    expect(await membersOf(id, owner)).toEqual([{ agent_id: owner, role: 'owner' }])
  })

  test('spec 11.2: banning, removing, leaving and repeating work while budget is down', async () => {
    const [owner, ...agents] = newAgents(5)
    const { id } = await h.create(owner ?? '')
    const [banned = '', removed = '', leaver = '', stranger = ''] = agents
    for (const agent of [banned, removed, leaver]) expect(await h.assign(id, agent, agent, 'reader')).toBe('ok')
    await eventually(() => h.budget.held === 0, { what: 'the charges being settled' })
    await h.budget.down()
    expect(await h.assign(id, owner ?? '', banned, 'banned')).toBe('ok')
    expect(await h.assign(id, owner ?? '', stranger, 'banned')).toBe('ok')
    expect(await h.assign(id, owner ?? '', removed, 'writer')).toBe('ok')
    expect(await h.assign(id, owner ?? '', removed, 'none')).toBe('ok')
    expect(await h.assign(id, leaver, leaver, 'reader')).toBe('ok')
    expect(await h.assign(id, leaver, leaver, 'none')).toBe('ok')
    expect(await h.assign(id, leaver, leaver, 'reader')).toBe('unavailable')
    expect(await roleOf(id, owner ?? '', leaver)).toBe('none')
  })
})

describe('spec 8.7, 11.7: at most 100 membership records', () => {
  async function fill(boardId: string, owner: string, count: number): Promise<void> {
    for (const agent of newAgents(count)) expect(await h.assign(boardId, owner, agent, 'banned')).toBe('ok')
  }

  test('of 50 concurrent subscriptions over two processes, with 60 records: 40 succeed and pay, the others are 409', async () => {
    const owner = newAgent()
    const { id } = await h.create(owner)
    await fill(id, owner, 60)
    const agents = newAgents(50)
    const codes = await Promise.all(agents.map((agent) => h.assign(id, agent, agent, 'reader')))
    expect(codes.filter((code) => code === 'ok')).toHaveLength(40)
    expect(codes.filter((code) => code === 'membership_limit')).toHaveLength(10)
    expect(await membersOf(id, owner)).toHaveLength(101)
    await eventually(() => h.budget.held === 0, { what: 'the charges being settled' })
    for (const [at, agent] of agents.entries()) expect(h.budget.usedBy(agent)).toBe(codes[at] === 'ok' ? 1 : 0)
  })

  test('of 50 concurrent bans, with 80 records, 20 succeed; each agent that leaves makes room for one', async () => {
    const owner = newAgent()
    const { id } = await h.create(owner, { visibility: 'private' })
    await fill(id, owner, 80)
    const agents = newAgents(50)
    const codes = await Promise.all(agents.map((agent) => h.assign(id, owner, agent, 'banned')))
    expect(codes.filter((code) => code === 'ok')).toHaveLength(20)
    expect(codes.filter((code) => code === 'membership_limit')).toHaveLength(30)
    const [banned = '', late = ''] = [agents[codes.indexOf('ok')], newAgent()]
    expect(await h.assign(id, owner, late, 'reader')).toBe('membership_limit')
    expect(await h.assign(id, owner, banned, 'writer')).toBe('ok') // changing an existing record adds none
    expect(await h.assign(id, owner, banned, 'none')).toBe('ok')
    expect(await h.assign(id, owner, late, 'reader')).toBe('ok')
    expect(await h.assign(id, owner, newAgent(), 'banned')).toBe('membership_limit')
    expect(await membersOf(id, owner)).toHaveLength(101)
  })

  test('spec 8.7: the same agent 50 times concurrently is one record and one unit', async () => {
    const [owner, agent] = [newAgent(), newAgent()]
    const { id } = await h.create(owner)
    const codes = await Promise.all(Array.from({ length: 50 }, () => h.assign(id, agent, agent, 'reader')))
    expect(new Set(codes)).toEqual(new Set(['ok']))
    expect(await membersOf(id, owner)).toHaveLength(2)
    await eventually(() => h.budget.held === 0, { what: 'the charges being settled' })
    expect(h.budget.usedBy(agent)).toBe(1)
  })
})

describe('the price depends on the roles when the change is written', () => {
  test('an agent that is banned between price and change does not get in, and pays nothing', async () => {
    const [owner, agent] = [newAgent(), newAgent()]
    const { id } = await h.create(owner)
    h.budget.beforeAnswer = async () => {
      h.budget.beforeAnswer = () => {}
      expect(await h.assign(id, owner, agent, 'banned')).toBe('ok')
    }
    expect(await h.assign(id, agent, agent, 'reader')).toBe('forbidden')
    expect(await roleOf(id, owner, agent)).toBe('banned')
    expect(h.budget.usedBy(agent)).toBe(0)
  })

  test('an agent that the owner adds between price and change pays nothing for its own change', async () => {
    const [owner, agent] = [newAgent(), newAgent()]
    const { id } = await h.create(owner)
    await eventually(() => h.budget.held === 0)
    h.budget.beforeAnswer = async () => {
      h.budget.beforeAnswer = () => {}
      expect(await h.assign(id, owner, agent, 'writer')).toBe('ok')
    }
    expect(await h.assign(id, agent, agent, 'reader')).toBe('ok')
    expect(await roleOf(id, owner, agent)).toBe('reader')
    expect(h.budget.usedBy(agent)).toBe(0)
  })

  test('of two additions for the last place one succeeds, and the other gets its unit back', async () => {
    const [owner, first, second] = [newAgent(), newAgent(), newAgent()]
    const { id } = await h.create(owner)
    for (const agent of newAgents(99)) await h.assign(id, owner, agent, 'banned')
    h.budget.beforeAnswer = async () => {
      h.budget.beforeAnswer = () => {}
      expect(await h.assign(id, second, second, 'reader')).toBe('ok')
    }
    expect(await h.assign(id, first, first, 'reader')).toBe('membership_limit')
    expect(h.budget.usedBy(first)).toBe(0)
    expect(h.budget.usedBy(second)).toBe(1)
  })
})

describe('spec 8.6: an owner adds an agent that has blocked it', () => {
  const addition = (board_id: string, owner: string, agent_id: string) =>
    ({ caller: owner, board_id, agent_id, standing: 'active', role: 'reader', contact_version: 4 }) as const

  test('the agent blocks it between judgement and change: the addition is refused, and costs nothing', async () => {
    const [owner, agent] = [newAgent(), newAgent()]
    const { id } = await h.create(owner)
    await eventually(() => h.budget.held === 0)
    const before = h.budget.usedBy(owner)
    h.budget.beforeAnswer = async () => {
      h.budget.beforeAnswer = () => {}
      await h.call(noteBlock, { agent_id: agent, owner, version: 5 })
    }
    expect(await h.codeOf(setMember, { ...addition(id, owner, agent), blocked: false })).toBe('admission_denied')
    expect(await roleOf(id, owner, agent)).toBe('none')
    expect(h.budget.usedBy(owner)).toBe(before)
  })

  test('a note of an earlier block, or about another owner, refuses nothing', async () => {
    const [owner, other, agent] = [newAgent(), newAgent(), newAgent()]
    const { id } = await h.create(owner)
    await h.create(other)
    await h.call(noteBlock, { agent_id: agent, owner: other, version: 9 })
    await h.call(noteBlock, { agent_id: agent, owner, version: 4 })
    await h.call(noteBlock, { agent_id: agent, owner, version: 3 })
    expect(await h.codeOf(setMember, { ...addition(id, owner, agent), blocked: false })).toBe('ok')
  })

  test('a note that meets an addition under way is answered after it', async () => {
    const [owner, agent] = [newAgent(), newAgent()]
    const { id } = await h.create(owner)
    const held = Promise.withResolvers<void>()
    const locked = Promise.withResolvers<void>()
    const addition = h.admin.transaction(async (tx) => {
      await tx`select 1 from boards.boards where id = ${id} for no key update`
      locked.resolve()
      await held.promise
    }, id)
    await locked.promise
    let noted = false
    const note = h.call(noteBlock, { agent_id: agent, owner, version: 1 }).then(() => {
      noted = true
    })
    await eventually(async () => {
      const [row] = await h.admin.run(
        (sql) => sql<{ waiting: number }[]>`select count(*) as waiting from pg_locks where not granted`,
      )
      return (row?.waiting ?? 0) > 0
    })
    expect(noted).toBe(false)
    held.resolve()
    await Promise.all([addition, note])
  })
})

describe('concurrent changes of one role', () => {
  test('after concurrent changes, the final role is one that a successful change has set', async () => {
    for (let round = 0; round < 10; round += 1) {
      const [owner, agent] = [newAgent(), newAgent()]
      const { id } = await h.create(owner)
      await h.assign(id, agent, agent, 'reader')
      const [banned, left, subscribed, written] = await Promise.all([
        h.assign(id, owner, agent, 'banned'),
        h.assign(id, agent, agent, 'none'),
        h.assign(id, agent, agent, 'reader'),
        h.assign(id, owner, agent, 'writer'),
      ])
      // The owner's changes are never refused. The agent's own are refused if it was banned before them.
      expect([banned, written]).toEqual(['ok', 'ok'])
      for (const code of [left, subscribed]) expect(['ok', 'forbidden']).toContain(code)
      const role = await roleOf(id, owner, agent)
      expect(['banned', 'writer', 'none', 'reader']).toContain(role)
      if (role === 'none') expect(left).toBe('ok')
      if (role === 'reader') expect(subscribed).toBe('ok')
      await eventually(() => h.budget.held === 0, { what: 'the charges being settled' })
    }
  })

  test('once a ban has been answered, every judgement respects it, whatever the banned agent tries', async () => {
    const [owner, agent] = [newAgent(), newAgent()]
    const { id } = await h.create(owner)
    await h.assign(id, owner, agent, 'writer')
    let banned = false
    const attempts = Array.from({ length: 8 }, async () => {
      for (let attempt = 0; attempt < 20; attempt += 1) {
        const after = banned
        const question = { board_id: id, viewer: agent, with_subscribers: true }
        const { may_post } = await h.call(judgeAccess, question)
        if (after) expect(may_post).toBe(false)
        await h.assign(id, agent, agent, 'writer')
      }
    })
    expect(await h.assign(id, owner, agent, 'banned')).toBe('ok')
    banned = true
    await Promise.all(attempts)
    expect(await roleOf(id, owner, agent)).toBe('banned')
  })
})
