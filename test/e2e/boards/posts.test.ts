/** POST /v2/messages to a board, as clients see it. Source: spec 7.1 to 7.4, 8.8, 11.2. Who may post is in boards.test.ts. */
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Agent } from '../../support/client/agent.ts'
import { countOutcomes, got, outcomeOf, spendingOf } from '../../support/client/answers.ts'
import { newBoard, putRole, subscribe } from '../../support/client/boards.ts'
import { idsOf, readList } from '../../support/client/pages.ts'
import { untilAnswered } from '../../support/client/retrying.ts'
import { type SharedHarness, shareHarness } from '../../support/system/harness.ts'

let h: SharedHarness
let admin: postgres.Sql
beforeAll(async () => {
  h = await shareHarness('roomy')
  admin = postgres(h.system.database.adminUrl, { max: 1, onnotice: () => {} })
})
afterAll(async () => {
  await admin?.end()
  await h[Symbol.asyncDispose]()
})

describe('spec 7.3: a post', () => {
  test('is 202 with lane board; a repeat on either gateway is 200 with duplicate true and costs nothing', async () => {
    const [olga, rita] = await h.agents(2)
    const board = await newBoard(olga)
    await subscribe(rita, board)
    const before = (await spendingOf(olga)).units
    const envelope = olga.envelope(`board:${board}`, { text: 'to all' })
    const result = { msg_id: envelope.id, status: 'accepted', lane: 'board', sender_authenticated: true }
    const first = await olga.post('/v2/messages', envelope)
    expect(first).toMatchObject({ status: 202 })
    expect(first.body).toStrictEqual({ ...result, duplicate: false })
    for (const url of h.system.urls) {
      const again = await olga.post('/v2/messages', envelope, { url })
      expect(again).toMatchObject({ status: 200 })
      expect(again.body).toStrictEqual({ ...result, duplicate: true })
      expect(outcomeOf(await olga.post('/v2/messages', { ...envelope, body: 'else' }, { url }))).toBe('409 id_conflict')
    }
    expect((await spendingOf(olga)).units - before).toBe(1)
    expect(idsOf(await readList(rita, `/v2/boards/${board}/messages`))).toEqual([envelope.id])
  })

  test('spec 7.4, 8.8: also while its price changes it is accepted once, and charged for its actual recipients', async () => {
    const [olga, rita, sven] = await h.agents(3)
    const board = await newBoard(olga)
    await subscribe(rita, board)
    for (let round = 0; round < 10; round += 1) {
      const before = (await spendingOf(olga)).units
      const envelope = olga.envelope(`board:${board}`)
      const [, ...answers] = await Promise.all([
        got(putRole(sven, board, sven, round % 2 === 0 ? 'reader' : 'none')),
        ...Array.from({ length: 6 }, (_, index) =>
          // The answer is 503 if an attempt at another price takes longer than the service waits.
          untilAnswered(() => olga.post('/v2/messages', envelope, { url: h.system.urls[index % 2] ?? '' })),
        ),
      ])
      expect(countOutcomes(answers)).toEqual({ '202': 1, '200': 5 })
      const [row] =
        await admin`select count(*)::int as recipients from messaging.entries where message = messaging.place_of(${envelope.id}) and log <> ${board}`
      expect((await spendingOf(olga)).units - before).toBe(row?.recipients)
    }
  })
})

describe('spec 8.8, 11.2: cost × subscribed recipients', () => {
  test('ceil(bytes / 1024) for each of owner, writers and readers, without the author and banned agents; a post without recipients costs as much as with one', async () => {
    const [olga, wes, rita, bart] = await h.agents(4)
    const board = await newBoard(olga, { posting: 'anyone' })
    const costOf = async (author: Agent, bytes: number) => {
      const before = (await spendingOf(author)).units
      await got(author.send(`board:${board}`, 'x'.repeat(bytes - 2)))
      return (await spendingOf(author)).units - before
    }
    expect(await costOf(olga, 1024)).toBe(1)
    expect(await costOf(olga, 1025)).toBe(2)
    await got(putRole(olga, board, wes, 'writer'))
    await subscribe(rita, board)
    await got(putRole(olga, board, bart, 'banned'))
    expect(await costOf(olga, 1024)).toBe(2)
    expect(await costOf(olga, 1025)).toBe(4)
    expect(await costOf(wes, 3_000)).toBe(6)
    await got(putRole(rita, board, rita, 'none'))
    expect(await costOf(wes, 3_000)).toBe(3)
    expect(await spendingOf(wes)).toMatchObject({ units: 9, introductions: 0 })
  })
})
