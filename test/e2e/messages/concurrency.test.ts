/**
 * Many concurrent operations, through two gateways and two processes of each service. Source: spec 7.7, 7.9, 9.3; ADR 19.
 */
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Agent, HttpAnswer } from '../../support/client/agent.ts'
import { countOutcomes, got, outcomeOf, spendingOf } from '../../support/client/answers.ts'
import { idsOf, type ListedEvent, readList } from '../../support/client/pages.ts'
import { untilAnswered } from '../../support/client/retrying.ts'
import { eventually } from '../../support/eventually.ts'
import { type Harness, startHarness } from '../../support/system/harness.ts'
import { ONE_OF_EACH } from '../../support/system/system.ts'

let h: Harness

beforeAll(async () => {
  h = await startHarness({
    replicas: { ...ONE_OF_EACH, messaging: 2, budget: 2, gateway: 2 },
    env: { SVC_DAILY_FREE_UNITS: '100000', SVC_DAILY_HARD_LIMIT: '100000' },
  })
})
afterAll(() => h[Symbol.asyncDispose]())

describe('spec 9.3: fifty senders to one agent, while it reads', () => {
  const SENDERS = 50
  const EACH = 12
  let reader: Agent
  let accepted: string[]
  let followed: ListedEvent[][]
  let exported: string[]

  beforeAll(async () => {
    ;[reader] = await h.agents(1)
    const senders = await h.agents(SENDERS)
    await got(reader.patch('/v2/me', { inbox_policy: 'open' }))

    const sending = new AbortController()
    const followers = h.system.urls.map((url) => followEvents(reader, url, sending.signal))
    const exporting = followExport(reader, sending.signal)
    const answers = await Promise.all(
      senders.map(async (sender) => {
        const mine: HttpAnswer[] = []
        for (let at = 0; at < EACH; at += 1) {
          const envelope = sender.envelope(reader, at)
          mine.push(await got(untilAnswered(() => sender.post('/v2/messages', envelope))))
        }
        return mine
      }),
    )
    sending.abort()
    accepted = answers.flat().map(({ body }) => body.msg_id)
    followed = await Promise.all(followers)
    exported = await exporting
  })

  test('cursors are contiguous from 1, and no event appeared late', () => {
    for (const events of followed) {
      expect(events.map(({ cursor }) => cursor)).toEqual(Array.from({ length: SENDERS * EACH }, (_, at) => at + 1))
    }
  })

  test('every reader has seen every message, once, and in the same order', () => {
    const [first = [], second = []] = followed.map((events) => idsOf(events.map(({ message }) => message)))
    expect(first.toSorted()).toEqual(accepted.toSorted())
    expect(second).toEqual(first)
  })

  test('spec 7.9: a concurrent export misses nothing', () => {
    expect(exported.toSorted()).toEqual(accepted.toSorted())
  })

  test('spec 7.9: the inbox is in the order of the cursors', async () => {
    const inbox = idsOf(await readList(reader, '/v2/inbox?limit=100'))
    expect(inbox).toEqual(idsOf((followed[0] ?? []).map(({ message }) => message)))
  })

  /** Reads from its last cursor repeatedly, until it has everything that was sent before `stopped`. */
  async function followEvents(agent: Agent, url: string, stopped: AbortSignal): Promise<ListedEvent[]> {
    const seen: ListedEvent[] = []
    for (let after = 0; ; ) {
      const last = stopped.aborted
      const query = `limit=100&after=${after}`
      const { body } = await got(untilAnswered(() => agent.get(`/v2/events?${query}`, { url })))
      seen.push(...body.events)
      after = body.next_cursor
      if (last && body.events.length === 0) return seen
    }
  }

  /** Follows `next_cursor`. When it is empty, reads the last page again. */
  async function followExport(agent: Agent, stopped: AbortSignal): Promise<string[]> {
    const seen: string[] = []
    let tail: string[] = []
    for (let after = ''; ; ) {
      const last = stopped.aborted
      const query = `limit=50${after}`
      const { body } = await got(untilAnswered(() => agent.get(`/v2/export?${query}`)))
      const page = idsOf(body.messages)
      // The beginning of the last page never changes; the page only grows.
      expect(page.slice(0, tail.length)).toEqual(tail.slice(0, page.length))
      if (body.next_cursor === '') {
        if (last) return [...seen, ...page]
        tail = page
      } else {
        tail = tail.slice(page.length)
        seen.push(...page)
        after = `&after=${body.next_cursor}`
      }
    }
  }
})

describe('spec 7.6: once the answer is there, no more messages get in', () => {
  const MAX_ATTEMPTS = 5
  let admin: postgres.Sql
  beforeAll(() => {
    admin = postgres(h.system.database.adminUrl, { max: 1, onnotice: () => {} })
  })
  afterAll(() => admin.end())

  interface Shutting {
    name: string
    refusal: string
    shut: (recipient: Agent, sender: Agent) => Promise<HttpAnswer>
  }
  const rows: Shutting[] = [
    {
      name: 'a block',
      refusal: '403 admission_denied',
      shut: (recipient, sender) => recipient.put(`/v2/contacts/${sender.id}`, { state: 'blocked' }),
    },
    {
      name: 'closing the inbox',
      refusal: '403 admission_denied',
      shut: (recipient) => recipient.patch('/v2/me', { inbox_policy: 'closed' }),
    },
    {
      name: 'revocation',
      refusal: '404 recipient_unavailable',
      shut: (recipient) => recipient.post('/v2/me/revoke', { confirm_agent_id: recipient.id }),
    },
  ]
  test.each(rows)('$name', async ({ refusal, shut }) => {
    for (let round = 0; round < 3; round += 1) {
      const [sender, recipient] = await h.agents(2)
      await got(recipient.patch('/v2/me', { inbox_policy: 'open' }))
      const answers: HttpAnswer[] = []
      const stop = new AbortController()
      const flooding = Array.from({ length: 12 }, async (_, worker) => {
        const url = h.system.urls[worker % 2] ?? h.place.url
        while (!stop.signal.aborted) {
          answers.push(await sender.post('/v2/messages', sender.envelope(recipient), { url }))
        }
      })
      const count = (outcome: string): number => countOutcomes(answers)[outcome] ?? 0
      await eventually(() => count('202') >= 20)

      await got(shut(recipient, sender))
      const arrived = await positionsOf(recipient)
      await eventually(() => count(refusal) >= 40)
      stop.abort()
      await Promise.all(flooding)

      expect(await positionsOf(recipient)).toEqual(arrived)
      // Each sender got the right answer for each of its messages.
      expect(new Set(answers.map(outcomeOf))).toEqual(new Set(['202', refusal]))
      expect(arrived).toEqual(Array.from({ length: count('202') }, (_, at) => at + 1))
    }
  })

  // Either the recipient has received messages and set contacts, or messaging does not know it yet.
  const histories = [
    {
      history: 'an agent with a log',
      prepare: async (to: Agent) => void (await got(to.patch('/v2/me', { inbox_policy: 'open' }))),
    },
    { history: 'an agent without one', prepare: async () => {} },
  ]
  const waitingRows = rows.flatMap((row) => histories.map((history) => ({ ...row, ...history })))
  test.each(waitingRows)(
    '$name by $history, while messages that were already admitted wait for their charge',
    async ({ refusal, shut, prepare }) => {
      await untilInTime(async () => {
        const [sender, recipient] = await h.agents(2)
        await prepare(recipient)
        const taken = (await got(sender.send(sender))).body.msg_id
        const before = await spendingOf(sender)
        const waiting = await withBudgetStopped(async () => {
          const waiting = Array.from({ length: 10 }, (_, at) => sendAt(at, sender, recipient))
          // The first lookup decides these messages. They are sent after the ten above.
          for (let at = 0; at < 6; at += 1) {
            expect(outcomeOf(await sendAt(at, sender, recipient, { id: taken }))).toBe('409 id_conflict')
          }
          await got(shut(recipient, sender)) // free, so budget is not called (spec 11.2)
          return waiting
        })
        const answers = await Promise.all(waiting)
        expect(await positionsOf(recipient)).toEqual([])
        if (answers.some(isLate)) return false
        expect(countOutcomes(answers)).toEqual({ [refusal]: 10 })
        expect(await spendingOf(sender)).toEqual(before)
        return true
      })
    },
  )

  test('spec 7.4, 7.6: of messages that all wait for their charge, one gets the id, and one is the request', async () => {
    await untilInTime(async () => {
      const [alice, bob, carol, shy] = await h.agents(4)
      const id = `contended-${alice.id.slice(0, 20)}`
      const waiting = await withBudgetStopped(async () => {
        const answers = [alice, bob, carol].map((sender, at) => sendAt(at, sender, sender, { id }))
        const requests = Array.from({ length: 8 }, (_, at) => sendAt(at, alice, shy))
        for (let at = 0; at < 6; at += 1) await got(shy.get('/v2/events'))
        return { answers, requests }
      })
      const [answers, requests] = await Promise.all([Promise.all(waiting.answers), Promise.all(waiting.requests)])
      if ([...answers, ...requests].some(isLate)) return false
      expect(countOutcomes(answers)).toEqual({ 202: 1, '409 id_conflict': 2 })
      expect(countOutcomes(requests)).toEqual({ 202: 1, '409 request_pending': 7 })
      const units = (await Promise.all([alice, bob, carol].map(spendingOf))).map((spending) => spending.units)
      expect(units.reduce((sum, used) => sum + used, 0)).toBe(2)
      return true
    })
  })

  /** Budget was stopped for longer than a request may take. This happens on a busy machine. */
  function isLate({ status }: HttpAnswer): boolean {
    return status === 503
  }

  /** @param attempt returns false if it was too late to prove anything. */
  async function untilInTime(attempt: () => Promise<boolean>): Promise<void> {
    for (let attempts = 1; !(await attempt()); attempts += 1) expect(attempts).toBeLessThan(MAX_ATTEMPTS)
  }

  /** Freezes budget during `work`. */
  async function withBudgetStopped<T>(work: () => Promise<T>): Promise<T> {
    const pids = ['budget-1', 'budget-2'].flatMap((name) => h.system.processes.get(name)?.pid ?? [])
    expect(pids).toHaveLength(2)
    for (const pid of pids) process.kill(pid, 'SIGSTOP')
    try {
      return await work()
    } finally {
      for (const pid of pids) process.kill(pid, 'SIGCONT')
    }
  }

  function sendAt(gateway: number, from: Agent, to: Agent, changes: { id?: string } = {}): Promise<HttpAnswer> {
    const url = h.system.urls[gateway % 2] ?? h.place.url
    return from.post('/v2/messages', from.envelope(to, gateway, changes), { url })
  }

  /** `closed`, because a revoked agent can no longer read anything. */
  async function positionsOf(recipient: Agent): Promise<number[]> {
    const rows = await admin<{ position: number }[]>`
      select position::int from messaging.messages where recipient = ${recipient.id} order by position`
    return rows.map(({ position }) => position)
  }
})
