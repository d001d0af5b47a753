import { ServiceError } from '@svc/contracts/errors.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { setContact } from '../../src/handlers/change/set-contact.ts'
import { setMailbox } from '../../src/handlers/change/set-mailbox.ts'
import { listContacts } from '../../src/handlers/read/list-contacts.ts'
import { contextNow, type Harness, startHarness } from '../support/harness.ts'
import { outcomeOf } from '../support/outcome.ts'

const STATES = ['none', 'accepted', 'blocked'] as const

const stateOf = async (h: Harness, owner: string, other: string) => {
  const { contacts } = await listContacts(h.deps, { agent_id: owner, after: '', limit: 100 })
  return contacts.find((contact) => contact.agent_id === other)?.state ?? 'none'
}

const MOVES = STATES.flatMap((from) => STATES.map((to) => ({ from, to, isFree: to !== 'accepted' || from === to })))

describe('spec 7.7: every move between the states', () => {
  let h: Harness
  beforeAll(async () => {
    h = await startHarness()
  })
  afterAll(() => h[Symbol.asyncDispose]())

  test.each(MOVES)(
    'spec 11.2: with budget down, $from → $to works if it is free ($isFree), and otherwise changes nothing',
    async ({ from, to, isFree }) => {
      const owner = `${from}-${to}-down`
      await h.setContact(owner, 'alice', from)
      h.budget.isDown = true
      const outcome = await outcomeOf(h.setContact(owner, 'alice', to))
      h.budget.isDown = false
      expect(outcome).toBe(isFree ? 'ok' : 'unavailable')
      expect(await stateOf(h, owner, 'alice')).toBe(isFree ? to : from)
    },
  )
})

describe('spec 11.2; ADR 21: accepting a contact', () => {
  test.each(STATES)('spec 7.7: %s for your own id is invalid_request, and charges nothing', async (state) => {
    await using h = await startHarness()
    expect(await outcomeOf(h.setContact('bob', 'bob', state))).toBe('invalid_request')
    expect(h.charged).toEqual([])
  })

  test('accepted twice at once, by two processes: charged once', async () => {
    await using h = await startHarness()
    const other = h.startProcess()
    await h.send({ from: 'alice', to: 'bob' })
    for (let round = 0; round < 20; round += 1) {
      const agent = `agent-${round}`
      h.charged.length = 0
      await Promise.all([h.setContact('bob', agent, 'accepted'), other.setContact('bob', agent, 'accepted')])
      expect(h.charged.filter(({ outcome }) => outcome === 'settled')).toHaveLength(1)
      expect(h.charged.filter(({ outcome }) => outcome === 'held')).toHaveLength(0)
    }
  })

  test('spec 11.3; ADR 21: a change that budget refuses, or that was abandoned meanwhile, changes nothing', async () => {
    await using h = await startHarness()
    const { id } = await h.send({ from: 'alice', to: 'bob' })
    const accept = (charge: (typeof h.deps.charging)['charge']) =>
      setContact(
        { ...h.deps, charging: { ...h.deps.charging, charge } },
        { agent_id: 'bob', other: 'alice', state: 'accepted' },
        contextNow(),
      )
    const refused = accept(async () => {
      throw new ServiceError('budget_exhausted')
    })
    expect(await outcomeOf(refused)).toBe('budget_exhausted')
    const fenced = accept(async ({ operation }, _context, commit) => {
      const reservation = { operation, deadlineMs: Date.now() + 10_000 }
      expect(await h.deps.operations.fence([reservation])).toEqual([false])
      return commit(reservation)
    })
    expect(await outcomeOf(fenced)).toBe('unavailable')
    const late = accept(({ operation }, _context, commit) => commit({ operation, deadlineMs: Date.now() - 1 }))
    expect(await outcomeOf(late)).toBe('unavailable')

    expect(await stateOf(h, 'bob', 'alice')).toBe('none')
    expect(await h.read('bob', id)).toMatchObject({ lane: 'requests' })
    expect((await h.events('bob')).next).toBe(1)
  })

  test('ADR 21: a committed acceptance is on record, so that its reservation is settled', async () => {
    await using h = await startHarness()
    await h.setContact('bob', 'alice', 'accepted')
    const operation = h.charged[0]?.cost.operation ?? ''
    await h.setContact('bob', 'alice', 'none')
    expect(await h.deps.operations.fence([{ operation, deadlineMs: Date.now() + 60_000 }])).toEqual([true])
  })
})

describe('spec 7.7: accepting a contact moves its pending request into the inbox', () => {
  test('a promotion gets a new cursor and event; the older event stays, with the current message', async () => {
    await using h = await startHarness()
    const request = { from: 'alice', to: 'bob', id: 'the-request' }
    await h.send(request)
    await h.send({ from: 'carol', to: 'bob', id: 'another-request' })
    await h.ack('bob', 'the-request')
    await h.setContact('bob', 'alice', 'accepted')

    expect(await h.read('bob', 'the-request')).toMatchObject({ lane: 'inbox', acked: true })
    expect((await h.inbox('bob')).ids).toEqual(['the-request'])
    expect((await h.inbox('bob', { lane: 'requests' })).ids).toEqual(['another-request'])
    expect((await h.events('bob')).events).toEqual([
      { cursor: 1, kind: 'requests', lane: 'inbox', id: 'the-request' },
      { cursor: 2, kind: 'requests', lane: 'requests', id: 'another-request' },
      { cursor: 3, kind: 'inbox', lane: 'inbox', id: 'the-request' },
    ])
    expect(await h.send(request)).toMatchObject({ lane: 'inbox', duplicate: true })
    expect(await h.send({ from: 'alice', to: 'bob' })).toMatchObject({ lane: 'inbox', duplicate: false })
    expect((await h.events('bob', 3)).events.map((event) => event.cursor)).toEqual([4])
  })

  test('the promotion is published, with the message in its current state', async () => {
    await using h = await startHarness()
    const { id } = await h.send({ from: 'alice', to: 'bob' })
    await h.ack('bob', id)
    await h.setContact('bob', 'alice', 'accepted')
    const message = await h.read('bob', id)
    expect(h.published).toEqual([
      { subject: 'accepted.bob.inbox', text: expect.any(String), acceptedMs: expect.any(Number) },
    ])
    expect(JSON.parse(h.published[0]?.text ?? '')).toEqual({ cursor: 2, kind: 'inbox', message })
  })

  test.each([
    ['there was none', async () => {}],
    ['it has expired', (h: Harness, id: string) => h.expire(id)],
    [
      'it was purged',
      async (h: Harness, id: string) => {
        await h.expire(id)
        await h.purge()
      },
    ],
  ])('nothing is promoted if %s', async (name, prepare) => {
    await using h = await startHarness()
    const { id } = await h.send({ from: name === 'there was none' ? 'carol' : 'alice', to: 'bob' })
    await prepare(h, id)
    await h.setContact('bob', 'alice', 'accepted')
    expect(h.published).toEqual([])
    expect((await h.events('bob')).next).toBe(1)
    expect(await h.send({ from: 'alice', to: 'bob' })).toMatchObject({ lane: 'inbox' })
    expect((await h.events('bob')).events.at(-1)?.cursor).toBe(2)
  })

  test('spec 7.6, 7.7: a block leaves a request pending, and accepting later promotes it', async () => {
    await using h = await startHarness()
    const { id } = await h.send({ from: 'alice', to: 'bob' })
    await h.setContact('bob', 'alice', 'blocked')
    expect((await h.inbox('bob', { lane: 'requests' })).ids).toEqual([id])
    expect(await outcomeOf(h.send({ from: 'alice', to: 'bob' }))).toBe('admission_denied')
    await h.setContact('bob', 'alice', 'none')
    expect(await outcomeOf(h.send({ from: 'alice', to: 'bob' }))).toBe('request_pending')
    await h.setContact('bob', 'alice', 'blocked')
    await h.setContact('bob', 'alice', 'accepted')
    expect((await h.inbox('bob')).ids).toEqual([id])
  })

  test('a thread lists its promoted message in the new lane', async () => {
    await using h = await startHarness()
    await h.setContact('alice', 'bob', 'accepted')
    const root = await h.send({ from: 'bob', to: 'alice' })
    const reply = await h.send({ from: 'alice', to: 'bob', threadId: root.id })
    expect((await h.inbox('bob', { lane: 'requests', thread_id: root.id })).ids).toEqual([reply.id])
    await h.setContact('bob', 'alice', 'accepted')
    expect((await h.inbox('bob', { lane: 'requests', thread_id: root.id })).ids).toEqual([])
    expect((await h.inbox('bob', { thread_id: root.id })).ids).toEqual([reply.id])
  })

  test('spec 9.3: cursors stay contiguous and in order while other agents are accepted and write', async () => {
    await using h = await startHarness()
    const processes = [h, h.startProcess()]
    const strangers = Array.from({ length: 24 }, (_, index) => `stranger-${index}`)
    let isDone = false
    const seen = watch()
    await Promise.all(
      strangers.map(async (stranger, index) => {
        const [here, there] = [processes[index % 2], processes[(index + 1) % 2]]
        await here?.send({ from: stranger, to: 'bob' })
        const late = there?.send({ from: stranger, to: 'bob' })
        // All wait for one log. On a busy machine some of them may get 503, and a client repeats those.
        const accepted = eventually(() => here?.setContact('bob', stranger, 'accepted'))
        await Promise.all([accepted, late && outcomeOf(late)])
      }),
    )
    isDone = true
    const inOrder = await seen
    const { events } = await h.events('bob')
    expect(events.map((event) => event.cursor)).toEqual(Array.from({ length: events.length }, (_, index) => index + 1))
    expect(events.length).toBeGreaterThanOrEqual(2 * strangers.length)
    expect(inOrder).toEqual(events.map((event) => event.cursor))

    /** The cursors in the order in which a polling client sees them. */
    async function watch(): Promise<number[]> {
      const cursors: number[] = []
      for (let after = 0, isLast = false; ; ) {
        const page = await h.events('bob', after, 5)
        cursors.push(...page.events.map((event) => event.cursor))
        after = page.next
        if (isLast && page.events.length === 0) return cursors
        isLast = isDone
      }
    }
  })
})

describe('spec 7.6: once closing, blocking or revoking has been answered, no later message is accepted', () => {
  const closings: [string, (h: Harness, agent: string) => Promise<unknown>, string][] = [
    ['blocking', (h, agent) => h.setContact(agent, 'alice', 'blocked'), 'admission_denied'],
    ['closing', (h, agent) => h.setPolicy(agent, 'closed', 2), 'admission_denied'],
    [
      'revoking',
      (h, agent) => setMailbox(h.deps, { agent_id: agent, policy: 'open', revoked: true, version: 2 }),
      'recipient_unavailable',
    ],
  ]
  test.each(closings)('%s, against sends of two processes, many times', async (_name, close, refusal) => {
    await using h = await startHarness()
    const senders = [h.startProcess(), h.startProcess()]
    for (let round = 0; round < 40; round += 1) {
      const agent = `agent-${round}`
      await h.setPolicy(agent, 'open', 1)
      const sends = Array.from({ length: 10 }, (_, index) =>
        outcomeOf(senders[index % 2]?.send({ from: 'alice', to: agent }) ?? Promise.reject(new Error('no process'))),
      )
      // Starts later in some rounds, so that its answer falls between the steps of the sends.
      for (let turn = 0; turn < round % 8; turn += 1) await h.events(agent)
      await close(h, agent)
      const answered = (await h.events(agent)).next
      const outcomes = await Promise.all(sends)
      expect((await h.events(agent)).next).toBe(answered)
      expect(outcomes.filter((outcome) => outcome === 'ok')).toHaveLength(answered)
      expect(outcomes.filter((outcome) => outcome === refusal)).toHaveLength(10 - answered)
    }
  })
})

describe('spec 7.7, 7.9: the list of contacts', () => {
  test('`after` is a place and need not exist', async () => {
    await using h = await startHarness()
    for (const other of ['a', 'Y10']) await h.setContact('bob', other, 'blocked')
    const places: [string, string[]][] = [
      ['Y1', ['Y10', 'a']],
      ['Y10', ['a']],
      ['Y10\0', ['a']],
      ['Y1\0zzz', ['Y10', 'a']],
      ['\0', ['Y10', 'a']],
      ['a', []],
      ['ü', []],
      ['\ud800', []],
    ]
    for (const [after, expected] of places) {
      const page = await listContacts(h.deps, { agent_id: 'bob', after, limit: 10 })
      const ids = page.contacts.map((contact) => contact.agent_id)
      expect({ after, ids, next: page.next_cursor }).toEqual({ after, ids: expected, next: '' })
    }
  })
})

describe('set-mailbox: only a higher version applies', () => {
  const versions = [
    { first: 1, second: 2, applies: true },
    { first: 2, second: 2, applies: false },
    { first: 2, second: 1, applies: false },
  ]
  test.each(versions)('version $second after $first applies: $applies', async ({ first, second, applies }) => {
    await using h = await startHarness()
    await h.setPolicy('bob', 'closed', first)
    await h.setPolicy('bob', 'open', second)
    expect(await outcomeOf(h.send({ from: 'alice', to: 'bob' }))).toBe(applies ? 'ok' : 'admission_denied')
  })

  test('of concurrent versions the highest remains', async () => {
    await using h = await startHarness()
    const other = h.startProcess()
    for (let round = 0; round < 10; round += 1) {
      const agent = `agent-${round}`
      const pushes = Array.from({ length: 10 }, (_, index) =>
        (index % 2 === 0 ? h : other).setPolicy(agent, index === 4 ? 'open' : 'closed', index === 4 ? 99 : index + 1),
      )
      await Promise.all(pushes)
      expect(await outcomeOf(h.send({ from: 'alice', to: agent }))).toBe('ok')
    }
  })

  test('a version that changes nothing makes no sender decide again', async () => {
    await using h = await startHarness()
    const standing = async () => {
      const rows = await h.deps.database.run(
        (sql) => sql<{ standing_version: number }[]>`select standing_version from messaging.logs where id = 'bob'`,
      )
      return rows[0]?.standing_version
    }
    await h.setPolicy('bob', 'open', 1)
    const before = await standing()
    await h.setPolicy('bob', 'open', 2)
    expect(await standing()).toBe(before)
    await h.setPolicy('bob', 'closed', 3)
    expect(await standing()).toBe((before ?? 0) + 1)
    await setMailbox(h.deps, { agent_id: 'bob', policy: 'closed', revoked: true, version: 4 })
    expect(await standing()).toBe((before ?? 0) + 2)
  })
})
