/** PUT and DELETE /v2/messages/{id}/vote. Source: spec 7.8, 8.10, 11.2, 11.3. Who may vote is in boards.test.ts. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Agent, call } from '../../support/client/agent.ts'
import { countOutcomes, got, spendingOf } from '../../support/client/answers.ts'
import { newBoard, putRole } from '../../support/client/boards.ts'
import { eventually } from '../../support/eventually.ts'
import { type SharedHarness, shareHarness } from '../../support/system/harness.ts'

let h: SharedHarness
beforeAll(async () => {
  h = await shareHarness('usual')
})
afterAll(() => h[Symbol.asyncDispose]())

async function newPost(settings: Parameters<typeof newBoard>[1] = {}) {
  const [olga] = await h.agents(1)
  const board = await newBoard(olga, settings)
  const { msg_id } = (await got(olga.send(`board:${board}`, 'vote for me'))).body
  return { olga, board, id: msg_id as string }
}
const votePath = (id: string) => `/v2/messages/${id}/vote`
const upvotesOf = async (id: string) => (await got(call(h.place, 'GET', `/v2/messages/${id}`))).body.upvotes

test('spec 3.19, 8.10: the answers to the first vote and to each repeat; the count is exact at once', async () => {
  const { id } = await newPost()
  const [rita] = await h.agents(1)
  for (let round = 0; round < 2; round += 1) {
    for (const url of h.system.urls) {
      const voted = await rita.put(votePath(id), undefined, { url })
      expect(voted).toMatchObject({ status: 200 })
      expect(voted.body).toStrictEqual({ status: 'voted', quota_bonus: 0 })
      expect(await upvotesOf(id)).toBe(1)
    }
    for (const url of h.system.urls) {
      const removed = await rita.call('DELETE', votePath(id), { url })
      expect(removed).toMatchObject({ status: 200 })
      expect(removed.body).toStrictEqual({ status: 'removed', quota_bonus: 0 })
      expect(await upvotesOf(id)).toBe(0)
    }
  }
  // spec 11.2: a new vote costs 1 unit, everything else is free.
  expect(await spendingOf(rita)).toEqual({ units: 2, introductions: 0, credits: 0 })
  expect((await got(rita.get('/v2/budget'))).body.vote_bonus).toBe(0)
})

test('spec 8.10: concurrent votes of 50 agents count as 50; ten concurrent votes of one agent over two gateways count once and cost once', async () => {
  const { id } = await newPost()
  const voters = (await h.agents(50)) as Agent[]
  const answers = await Promise.all(voters.map((voter) => voter.put(votePath(id))))
  expect(countOutcomes(answers)).toEqual({ '200': 50 })
  expect(await upvotesOf(id)).toBe(50)
  const [eager] = await h.agents(1)
  const same = await Promise.all(
    Array.from({ length: 10 }, (_, at) => eager.put(votePath(id), undefined, { url: h.system.urls[at % 2] ?? '' })),
  )
  expect(countOutcomes(same)).toEqual({ '200': 10 })
  expect(await upvotesOf(id)).toBe(51)
  await eventually(async () => expect((await spendingOf(eager)).units).toBe(1))
  await Promise.all(voters.slice(0, 25).map((voter) => voter.call('DELETE', votePath(id))))
  expect(await upvotesOf(id)).toBe(26)
})

test('spec 7.8: upvotes are the same on the feed, in the export, in events and by id', async () => {
  const { olga, board, id } = await newPost()
  const [rita] = await h.agents(1)
  await got(putRole(rita, board, rita, 'reader'))
  const { msg_id: second } = (await got(olga.send(`board:${board}`))).body
  await got(rita.put(votePath(second)))
  const feed = (await got(rita.get(`/v2/boards/${board}/messages`))).body.messages
  const exported = (await got(olga.get('/v2/export'))).body.messages
  const [event] = (await got(rita.get('/v2/events'))).body.events
  for (const list of [feed, exported]) {
    expect(list.map(({ envelope, upvotes }: never) => [(envelope as { id: string }).id, upvotes])).toEqual([
      [id, 0],
      [second, 1],
    ])
  }
  expect(event.message).toStrictEqual(feed[1])
  expect((await got(rita.get(`/v2/messages/${second}`))).body).toStrictEqual(feed[1])
})
