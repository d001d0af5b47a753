/**
 * Concurrent posts, role changes and departures. Each post is judged at one moment between its request and its answer. A
 * change therefore applies to every post that begins after the change was answered, and to no post that was answered before
 * the change began (spec 8.4, 8.5, 8.7, 8.8).
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Agent } from '../../support/client/agent.ts'
import { got, outcomeOf } from '../../support/client/answers.ts'
import { newBoard, putRole, rolesOf, subscribe } from '../../support/client/boards.ts'
import { readEvents } from '../../support/client/pages.ts'
import { type SharedHarness, shareHarness } from '../../support/system/harness.ts'

let h: SharedHarness
beforeAll(async () => {
  h = await shareHarness('roomy')
})
afterAll(() => h[Symbol.asyncDispose]())

interface Post {
  readonly id: string
  readonly begun: number
  readonly ended: number
  readonly outcome: string
}

interface Change {
  readonly begun: number
  readonly ended: number
}

const LANES = 4
/**
 * The number of posts that are answered before the change begins. Also, for each lane, the number of posts that begin after
 * its answer.
 */
const POSTS_BEFORE = 12
const POSTS_AFTER = 3

/** Posts in several lanes at once, and makes a change halfway. */
async function postAround(
  author: Agent,
  boardId: string,
  change: () => Promise<unknown>,
): Promise<{ posts: Post[]; change: Change }> {
  const posts: Post[] = []
  let changing: Promise<Change> | undefined
  let over = false
  const lane = async (): Promise<void> => {
    for (let after = 0; after < POSTS_AFTER; after += over ? 1 : 0) {
      const envelope = author.envelope(`board:${boardId}`)
      const begun = performance.now()
      const outcome = outcomeOf(await author.post('/v2/messages', envelope))
      posts.push({ id: envelope.id, begun, ended: performance.now(), outcome })
      if (posts.length >= POSTS_BEFORE) changing ??= makeChange()
    }
  }
  const makeChange = async (): Promise<Change> => {
    const begun = performance.now()
    await change()
    over = true
    return { begun, ended: performance.now() }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  if (changing === undefined) throw new Error('nothing was changed')
  return { posts, change: await changing }
}

async function boardEventsOf(agent: Agent): Promise<string[]> {
  const events = await readEvents(agent)
  return events.flatMap(({ kind, message }) => (kind === 'board' ? [message.envelope.id] : []))
}

const split = (posts: readonly Post[], change: Change) => ({
  before: posts.filter((post) => post.ended < change.begun),
  after: posts.filter((post) => post.begun > change.ended),
})

describe('concurrent role changes, departures and posts take effect in some order', () => {
  test('spec 8.4: a writer is banned: posts that began after the answer are 403, posts that were answered before it exist', async () => {
    const [owner, writer] = await h.agents(2)
    const boardId = await newBoard(owner)
    await got(putRole(owner, boardId, writer, 'writer'))
    const ban = (): Promise<unknown> => got(putRole(owner, boardId, writer, 'banned'))
    const { posts, change } = await postAround(writer, boardId, ban)
    const { before, after } = split(posts, change)
    expect(before.length).toBeGreaterThan(0)
    expect(after.length).toBeGreaterThan(0)
    expect(new Set(before.map(({ outcome }) => outcome))).toEqual(new Set(['202']))
    expect(new Set(after.map(({ outcome }) => outcome))).toEqual(new Set(['403 forbidden']))
    // The log of its subscriber contains exactly the accepted posts.
    const accepted = posts.filter(({ outcome }) => outcome === '202').map(({ id }) => id)
    expect((await boardEventsOf(owner)).toSorted()).toEqual(accepted.toSorted())
  })

  test('spec 8.8, 9.5: a reader leaves: it has an event of each post before, and of none after', async () => {
    const [owner, reader] = await h.agents(2)
    const boardId = await newBoard(owner)
    await subscribe(reader, boardId)
    const leave = (): Promise<unknown> => got(putRole(reader, boardId, reader, 'none'))
    const { posts, change } = await postAround(owner, boardId, leave)
    const { before, after } = split(posts, change)
    expect(before.length).toBeGreaterThan(0)
    expect(after.length).toBeGreaterThan(0)
    expect(new Set(posts.map(({ outcome }) => outcome))).toEqual(new Set(['202']))
    // The board is public, so an agent that has left keeps its events.
    const events = new Set(await boardEventsOf(reader))
    expect(before.filter(({ id }) => !events.has(id))).toEqual([])
    expect(after.filter(({ id }) => events.has(id))).toEqual([])
  })

  test('spec 8.8: an agent subscribes: it has an event of each post after, and of none before', async () => {
    const [owner, reader] = await h.agents(2)
    const boardId = await newBoard(owner)
    const { posts, change } = await postAround(owner, boardId, () => subscribe(reader, boardId))
    const { before, after } = split(posts, change)
    const events = new Set(await boardEventsOf(reader))
    expect(before.filter(({ id }) => events.has(id))).toEqual([])
    expect(after.filter(({ id }) => !events.has(id))).toEqual([])
    expect(after.length).toBeGreaterThan(0)
  })

  test('spec 7.7, 8.6: once a block is answered, its owner adds the agent to no board, also with additions under way', async () => {
    const [owner, agent] = await h.agents(2)
    const boardIds = await Promise.all(Array.from({ length: 12 }, () => newBoard(owner, { visibility: 'private' })))
    const boardsOf = async (): Promise<string[]> =>
      (await got(agent.get('/v2/boards?limit=100'))).body.boards
        .map(({ id }: { id: string }) => id)
        .filter((id: string) => boardIds.includes(id))
    const additions = boardIds.map(async (id) => outcomeOf(await putRole(owner, id, agent, 'reader')))
    await Promise.race(additions)
    await got(agent.put(`/v2/contacts/${owner.id}`, { state: 'blocked' }))
    const joined = await boardsOf()
    const outcomes = await Promise.all(additions)
    expect(new Set(outcomes)).toEqual(new Set(['200', '403 admission_denied'].filter((one) => outcomes.includes(one))))
    expect(await boardsOf()).toEqual(joined)
    expect(outcomes.filter((one) => one === '200')).toHaveLength(joined.length)
  })

  test('spec 8.5: with a concurrent ban, promotion and departure, the final state is one of the owner’s changes', async () => {
    for (let round = 0; round < 8; round += 1) {
      const [owner, agent] = await h.agents(2)
      const boardId = await newBoard(owner)
      await subscribe(agent, boardId)
      const [banned, promoted, left] = (
        await Promise.all([
          putRole(owner, boardId, agent, 'banned'),
          putRole(owner, boardId, agent, 'writer'),
          putRole(agent, boardId, agent, 'none'),
        ])
      ).map(outcomeOf)
      expect([banned, promoted]).toEqual(['200', '200'])
      expect(['200', '403 forbidden']).toContain(left)
      const role = (await rolesOf(owner, boardId))[agent.id] ?? 'none'
      expect(left === '200' ? ['banned', 'writer', 'none'] : ['banned', 'writer']).toContain(role)
      // The final role decides whether the next post is accepted.
      const outcome = outcomeOf(await agent.send(`board:${boardId}`))
      expect(outcome).toBe(role === 'writer' ? '202' : '403 forbidden')
    }
  })
})
