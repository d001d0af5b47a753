/**
 * Posts and votes while messaging, boards or budget is killed at every step. In the end there is no charge without its
 * effect and no effect without its charge. Either all subscribers get a post, or none. Both hold whether the client retries
 * or not. Source: spec 3.17, 8.8, 8.10; ADR 21.
 */
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Agent } from '../support/client/agent.ts'
import { got, outcomeOf, spendingOf } from '../support/client/answers.ts'
import { newBoard, putRole } from '../support/client/boards.ts'
import { idsOf, readList } from '../support/client/pages.ts'
import { eventually } from '../support/eventually.ts'
import { type Harness, startHarness } from '../support/system/harness.ts'
import { ONE_OF_EACH } from '../support/system/system.ts'
import { callAs, describeTheEnd, type Outcome, withBothClientsAt } from './in-the-end.ts'

/** Body of a post: 2 KiB, for three subscribers. */
const BODY = 'x'.repeat(2 * 1024 - 2)
const SUBSCRIBERS = 3
const POST_UNITS = 2 * SUBSCRIBERS

let h: Harness
let admin: postgres.Sql
/** The tests that kill processes fill this. The tests at the end check it, when the resolver has had time for everything. */
const outcomes: Outcome[] = []

beforeAll(async () => {
  // A service that dies has only one process, so that the armed process gets the call.
  h = await startHarness({ replicas: { ...ONE_OF_EACH, gateway: 2 }, env: { SVC_DAILY_FREE_UNITS: '1000' } })
  admin = postgres(h.system.database.adminUrl, { max: 1, onnotice: () => {} })
})
afterAll(async () => {
  await admin?.end()
  await h[Symbol.asyncDispose]()
})

/** A board with its owner, two readers, and a writer that has not paid for anything yet. */
async function startScene() {
  const [owner, author, ...readers] = await h.agents(4)
  const boardId = await newBoard(owner, { visibility: 'private' })
  await got(putRole(owner, boardId, author, 'writer'))
  for (const reader of readers) await got(putRole(owner, boardId, reader, 'reader'))
  return { boardId, author, subscribers: [owner, ...readers] }
}

/** Waits until the setup is settled, so that the setup does not trigger the failpoint. */
async function untilSettled(...payers: Agent[]): Promise<void> {
  const ids = payers.map((payer) => payer.id)
  const held = () => admin`select from budget.reservations where state = 'held' and agent_id = any (${ids})`
  await eventually(async () => (await held()).length === 0, {
    timeoutMs: 20_000,
    what: 'the setup being settled',
  })
}

async function eventIdsOf(agent: Agent): Promise<string[]> {
  const { events } = (await got(agent.get('/v2/events'))).body
  return events.map(({ message }: { message: { envelope: { id: string } } }) => message.envelope.id)
}

describe('spec 12.3; ADR 21: a post', () => {
  const deaths = [
    ['charging.messaging.reserved', 'messaging-1'],
    ['messaging.appended', 'messaging-1'],
    ['charging.messaging.committed', 'messaging-1'],
  ] as const

  test.each(deaths)('at %s, %s dies', async (failpoint, name) => {
    await withBothClientsAt(h.system, failpoint, name, async (client) => {
      const { boardId, author, subscribers } = await startScene()
      await untilSettled(...subscribers)
      const envelope = author.envelope(`board:${boardId}`, BODY)
      return () => {
        const done = callAs(client, () => author.post('/v2/messages', envelope))
        outcomes.push({
          name: `${failpoint} ${envelope.id}`,
          done,
          async check() {
            const answer = await done
            if (client === 'repeats') expect(['200', '202']).toContain(outcomeOf(answer))
            const posts = idsOf(await readList(author, `/v2/boards/${boardId}/messages`))
            expect([[], [envelope.id]]).toContainEqual(posts)
            // after a 202 the post must exist; a 503 promises nothing
            if (answer.status !== 503) expect(posts).toEqual([envelope.id])
            for (const subscriber of subscribers) expect(await eventIdsOf(subscriber)).toEqual(posts)
            expect(await spendingOf(author)).toMatchObject({ units: posts.length * POST_UNITS, introductions: 0 })
          },
        })
        return done
      }
    })
  })
})

describe('spec 12.3; ADR 21: a vote', () => {
  const deaths = [
    ['charging.messaging.reserved', 'messaging-1'],
    ['charging.messaging.committed', 'messaging-1'],
  ] as const

  test.each(deaths)('at %s, %s dies', async (failpoint, name) => {
    await withBothClientsAt(h.system, failpoint, name, async (client) => {
      const [owner, voter] = await h.agents(2)
      const boardId = await newBoard(owner)
      const { msg_id: id } = (await got(owner.send(`board:${boardId}`, 'vote'))).body
      await untilSettled(owner)
      return () => {
        const done = callAs(client, () => voter.put(`/v2/messages/${id}/vote`))
        outcomes.push({
          name: `${failpoint} vote`,
          done,
          async check() {
            const answer = await done
            if (client === 'repeats') expect(outcomeOf(answer)).toBe('200')
            const { upvotes } = (await got(owner.get(`/v2/messages/${id}`))).body
            expect([0, 1]).toContain(upvotes)
            if (answer.status !== 503) expect(upvotes).toBe(1)
            expect(await spendingOf(voter)).toMatchObject({ units: upvotes })
            // a retry finds the vote or casts it; either way it is charged once
            expect(outcomeOf(await voter.put(`/v2/messages/${id}/vote`))).toBe('200')
            expect((await got(owner.get(`/v2/messages/${id}`))).body.upvotes).toBe(1)
            expect(await spendingOf(voter)).toMatchObject({ units: 1 })
          },
        })
        return done
      }
    })
  })
})

describe('while boards is down', () => {
  test('requests that need a verdict get 503; direct messages and reads of a board known to be open still work', async () => {
    const [alice, bob, carol] = await h.agents(3)
    const boardId = await newBoard(alice, { visibility: 'private' })
    await got(putRole(alice, boardId, bob, 'reader'))
    const open = await newBoard(alice)
    const openPost = (await got(alice.send(`board:${open}`, 'post'))).body.msg_id
    const { msg_id: id } = (await got(alice.send(`board:${boardId}`, 'post'))).body
    await h.system.kill('boards-1')
    try {
      const began = Date.now()
      const refused = await Promise.all([
        alice.send(`board:${boardId}`, 'post'),
        bob.get(`/v2/boards/${boardId}/messages`),
        bob.get(`/v2/messages/${id}`),
        bob.put(`/v2/messages/${id}/vote`),
        bob.get('/v2/events'),
        alice.put(`/v2/boards/${boardId}/messages/${id}/visibility`, { hidden: true }),
      ])
      expect(refused.map(outcomeOf)).toEqual(refused.map(() => '503 unavailable'))
      // 5 s for each (spec 3.17); the rest is for a busy machine
      expect(Date.now() - began).toBeLessThan(10_000)
      expect(idsOf(await readList(bob, `/v2/boards/${open}/messages`))).toEqual([openPost])
      expect(outcomeOf(await bob.get(`/v2/messages/${openPost}`))).toBe('200')
      const dm = (await got(alice.send(carol, 'hello'))).body.msg_id
      expect(await eventIdsOf(carol)).toEqual([dm])
      expect(idsOf(await readList(carol, '/v2/inbox?lane=requests'))).toEqual([dm])
    } finally {
      await h.system.start('boards-1')
    }
    expect(await eventIdsOf(bob)).toEqual([id])
  })
})

describeTheEnd(outcomes, () => admin, 10)
