/**
 * Messages while messaging, budget or a gateway is killed at every step. In the end there is no charge without
 * its effect and no effect without its charge, whether the client retries or not. Source: ADR 21; spec 3.17, 7.7, 11.3,
 * 11.5, 12.3.
 */
import { randomBytes } from 'node:crypto'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Agent, HttpAnswer } from '../support/client/agent.ts'
import { got, outcomeOf, spendingOf } from '../support/client/answers.ts'
import { idsOf, readList } from '../support/client/pages.ts'
import { untilAnswered } from '../support/client/retrying.ts'
import { untilResolved } from '../support/system/books.ts'
import { withDeathAt } from '../support/system/dying.ts'
import { type Harness, startHarness } from '../support/system/harness.ts'
import { type Operator, startOperator } from '../support/system/operator.ts'
import { ONE_OF_EACH } from '../support/system/system.ts'
import { CLIENTS, callAs, describeTheEnd, type Outcome, withBothClientsAt } from './in-the-end.ts'

/** A message uses up all free units and 3 credits. */
const FREE = 8
const MESSAGE_UNITS = 11
const CREDITS = 500

let h: Harness
let operator: Operator
let admin: postgres.Sql
/** The tests that kill processes fill this. The tests at the end check it, when the resolver has had time for everything. */
const outcomes: Outcome[] = []

beforeAll(async () => {
  // A service that dies has only one process, so that the armed process gets the call.
  h = await startHarness({
    replicas: { ...ONE_OF_EACH, gateway: 2 },
    env: { SVC_DAILY_FREE_UNITS: String(FREE), SVC_DAILY_HARD_LIMIT: '10000', SVC_DAILY_INTRODUCTIONS: '1000' },
  })
  operator = await startOperator(h.system)
  admin = postgres(h.system.database.adminUrl, { max: 1, onnotice: () => {} })
})
afterAll(async () => {
  await admin?.end()
  await operator?.[Symbol.asyncDispose]()
  await h[Symbol.asyncDispose]()
})

async function payer(): Promise<Agent> {
  const [agent] = await h.agents(1)
  await operator.grant(agent.id, CREDITS, `payer-${agent.id}`)
  return agent
}

/** The used units must equal the cost of the accepted messages: free units first, then credits. */
async function expectPaid(agent: Agent, units: number, introductions: number): Promise<void> {
  expect(await spendingOf(agent)).toEqual({ units, introductions, credits: CREDITS - Math.max(0, units - FREE) })
}

async function isThere(agent: Agent, id: string): Promise<boolean> {
  const outcome = outcomeOf(await agent.get(`/v2/messages/${id}`))
  expect(['200', '404 not_found']).toContain(outcome)
  return outcome === '200'
}

const BODY = '€'.repeat(Math.floor((MESSAGE_UNITS * 1024 - 2) / 3))

// This runs first, while the resolver is idle, because the resolver reaches the same failpoints.
describe('spec 7.4, 11.3; ADR 21: of two messages with one id, the refused one gets its charge back', () => {
  const deaths = [
    ['charging.messaging.fenced', 'messaging-1'],
    ['budget.released', 'budget-1'],
  ] as const

  test.each(deaths)('at %s, %s dies', async (failpoint, name) => {
    const [open] = await h.agents(1)
    await operator.grant(open.id, 1, `open-${open.id}`)
    await got(untilAnswered(() => open.patch('/v2/me', { inbox_policy: 'open' })))
    const prepare = () =>
      Promise.all(CLIENTS.map(async (client) => ({ client, senders: await Promise.all([payer(), payer()]) })))
    // The senders exist and nothing is left to release before the process is armed, so that only the calls below kill it.
    let prepared: Awaited<ReturnType<typeof prepare>> | undefined = await prepare()
    await untilResolved(admin)
    await withDeathAt(h.system, failpoint, name, async () => {
      const clients = prepared ?? (await prepare())
      prepared = undefined
      const calls = clients.map(({ client, senders }) => {
        const id = randomBytes(12).toString('base64url')
        const envelopes = senders.map((sender) => sender.envelope(open, BODY, { id }))
        const done = Promise.all(
          senders.map((sender, at) =>
            callAs(client, () => sender.post('/v2/messages', envelopes[at], { url: h.place.url })),
          ),
        )
        outcomes.push({
          name: id,
          done,
          async check() {
            const answers = await done
            const mine = await Promise.all(senders.map((sender) => isThere(sender, id)))
            const winners = mine.filter((there) => there).length
            if (client === 'repeats') expect(winners).toBe(1)
            for (const [at, sender] of senders.entries()) {
              const told = outcomeOf(answers[at] as HttpAnswer)
              if (told !== '503 unavailable') expect(['200', '202'].includes(told)).toBe(mine[at])
              await expectPaid(sender, mine[at] ? MESSAGE_UNITS : 0, mine[at] ? 1 : 0)
            }
          },
        })
        return done
      })
      await Promise.all(calls)
    })
  })
})

describe('spec 12.3; ADR 21: a message', () => {
  const deaths = [
    ['charging.messaging.reserved', 'messaging-1'],
    ['messaging.appended', 'messaging-1'],
    ['charging.messaging.committed', 'messaging-1'],
    ['charging.messaging.settled', 'messaging-1'],
    ['budget.reserved', 'budget-1'],
    ['budget.settled', 'budget-1'],
  ] as const

  test.each(deaths)('at %s, %s dies', async (failpoint, name) => {
    await withBothClientsAt(h.system, failpoint, name, async (client) => {
      const alice = await payer()
      const [bob] = await h.agents(1)
      const envelope = alice.envelope(bob, BODY)
      return () => {
        const done = callAs(client, () => alice.post('/v2/messages', envelope))
        outcomes.push({
          name: envelope.id,
          done,
          async check() {
            const answer = await done
            if (client === 'repeats') expect(['200', '202']).toContain(outcomeOf(answer))
            const accepted = await isThere(alice, envelope.id)
            // after a 202 the message must exist; a 503 promises nothing
            if (answer.status !== 503) expect(accepted).toBe(true)
            expect(idsOf(await readList(bob, '/v2/inbox?lane=requests'))).toEqual(accepted ? [envelope.id] : [])
            await expectPaid(alice, accepted ? MESSAGE_UNITS : 0, accepted ? 1 : 0)
          },
        })
        return done
      }
    })
  })
})

describe('spec 12.3; ADR 21: a message whose cost the gateway has reserved ahead', () => {
  const deaths = [
    ['gateway.reserved', 'gateway-1'],
    ['messaging.appended', 'messaging-1'],
    ['charging.messaging.committed', 'messaging-1'],
    ['budget.reserved', 'budget-1'],
  ] as const

  test.each(deaths)('at %s, %s dies', async (failpoint, name) => {
    await withBothClientsAt(h.system, failpoint, name, async (client) => {
      const [bob] = await h.agents(1)
      await got(untilAnswered(() => bob.patch('/v2/me', { inbox_policy: 'open' })))
      const alice = await payer()
      const send = (envelope: object) => alice.post('/v2/messages', envelope, { url: h.place.url })
      // The first message makes the pair known to the gateway. After a restart of the gateway, the second message does.
      const first = alice.envelope(bob, BODY)
      await got(untilAnswered(() => send(first)))
      return () => {
        const envelopes = [alice.envelope(bob, BODY), alice.envelope(bob, BODY)]
        const done = envelopes.reduce<Promise<HttpAnswer[]>>(async (before, envelope) => {
          const answers = await before
          return [...answers, await callAs(client, () => send(envelope))]
        }, Promise.resolve([]))
        outcomes.push({
          name: envelopes.map(({ id }) => id).join(),
          done,
          async check() {
            const answers = await done
            const there = await Promise.all(envelopes.map(({ id }) => isThere(alice, id)))
            for (const [at, answer] of answers.entries()) {
              if (client === 'repeats') expect(['200', '202']).toContain(outcomeOf(answer))
              // after a 202 the message must exist; a 503 promises nothing
              if (answer.status !== 503) expect(there[at]).toBe(true)
            }
            const accepted = [first, ...envelopes.filter((_, at) => there[at])]
            expect(idsOf(await readList(bob, '/v2/inbox'))).toEqual(accepted.map(({ id }) => id))
            await expectPaid(alice, accepted.length * MESSAGE_UNITS, 1)
          },
        })
        return done
      }
    })
  })
})

describeTheEnd(outcomes, () => admin, 24)
