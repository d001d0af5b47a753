/**
 * Messages that wait for their charge while somebody is shut out, through two gateways and two processes of each service.
 * Source: spec 7.4, 7.6; ADR 19. clients/conformance/src/code/messages has what needs no stopped process.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Agent, HttpAnswer } from '../../support/client/agent.ts'
import { countOutcomes, got, outcomeOf, spendingOf } from '../../support/client/answers.ts'
import { idsOf, readList } from '../../support/client/pages.ts'
import { type Harness, startHarness } from '../../support/system/harness.ts'
import { ONE_OF_EACH } from '../../support/system/system.ts'

let h: Harness

beforeAll(async () => {
  h = await startHarness({ replicas: { ...ONE_OF_EACH, messaging: 2, budget: 2, gateway: 2 } })
})
afterAll(() => h[Symbol.asyncDispose]())

describe('spec 7.6: once the answer is there, no more messages get in', () => {
  const MAX_ATTEMPTS = 5

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
        expect(idsOf(await readList(sender, '/v2/export'))).toEqual([taken])
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
})
