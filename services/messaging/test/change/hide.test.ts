import { describe, expect, test } from 'vitest'
import { type Harness, startHarness } from '../support/harness.ts'
import { outcomeOf } from '../support/outcome.ts'

async function startScene(h: Harness) {
  const board = h.boards.create('olga')
  h.boards.setRole(board, 'wes', 'writer')
  h.boards.setRole(board, 'rita', 'reader')
  const root = await h.send({ from: 'wes', to: board })
  const post = await h.send({ from: 'wes', to: board, threadId: root.id })
  const last = await h.send({ from: 'wes', to: board })
  return { board, root: root.id, post: post.id, last: last.id }
}

describe('spec 8.9: hidden posts', () => {
  test('are absent from every feed, list and event, also for the owner and the author, and return when restored', async () => {
    await using h = await startHarness()
    const { board, root, post, last } = await startScene(h)
    const shown = async () => {
      const read = async (viewer: string | null) => outcomeOf(h.read(viewer, post))
      const ids = async (agent: string) => (await h.events(agent)).events.map(({ id }) => id)
      return {
        feeds: [(await h.feed('olga', board)).ids, (await h.feed(null, board)).ids],
        thread: (await h.feed('rita', board, { thread_id: root })).ids,
        events: [await ids('olga'), await ids('rita')],
        exported: (await h.exported('wes')).ids,
        exportedThread: (await h.exported('wes', { thread_id: root })).ids,
        byId: {
          olga: await read('olga'),
          wes: await read('wes'),
          rita: await read('rita'),
          anonymous: await read(null),
        },
      }
    }
    const visible = {
      feeds: [
        [root, post, last],
        [root, post, last],
      ],
      thread: [root, post],
      events: [
        [root, post, last],
        [root, post, last],
      ],
      exported: [root, post, last],
      exportedThread: [root, post],
      byId: { olga: 'ok', wes: 'ok', rita: 'ok', anonymous: 'ok' },
    }
    const hidden = {
      feeds: [
        [root, last],
        [root, last],
      ],
      thread: [root],
      events: [
        [root, last],
        [root, last],
      ],
      exported: [root, last],
      exportedThread: [root],
      byId: { olga: 'ok', wes: 'not_found', rita: 'not_found', anonymous: 'not_found' },
    }
    expect(await shown()).toEqual(visible)
    for (let round = 0; round < 2; round += 1) {
      for (let time = 0; time < 2; time += 1) {
        expect(await h.setHidden('olga', board, post, true)).toEqual({ hidden: true })
        expect(await shown()).toEqual(hidden)
      }
      for (let time = 0; time < 2; time += 1) {
        expect(await h.setHidden('olga', board, post, false)).toEqual({ hidden: false })
        expect(await shown()).toEqual(visible)
      }
    }
    expect(h.charged).toHaveLength(3)
  })

  test('a hidden root: the members of its thread stay listed', async () => {
    await using h = await startHarness()
    const { board, root, post } = await startScene(h)
    await h.setHidden('olga', board, root, true)
    expect((await h.feed(null, board, { thread_id: root })).ids).toEqual([post])
    expect((await h.exported('wes', { thread_id: root })).ids).toEqual([post])
  })

  test('spec 9.4: a page of events keeps its end, and skips the hidden post', async () => {
    await using h = await startHarness()
    const { board, post, last } = await startScene(h)
    await h.setHidden('olga', board, post, true)
    expect(await h.events('rita', 1, 1)).toMatchObject({ events: [{ cursor: 3 }], next: 3 })
    await h.setHidden('olga', board, last, true)
    expect(await h.events('rita', 1, 1)).toMatchObject({ events: [], next: 3 })
  })
})

describe('spec 8.9: hiding', () => {
  test('spec 11.2: hiding is free, and works while budget is down', async () => {
    await using h = await startHarness()
    const { board, post } = await startScene(h)
    h.budget.isDown = true
    expect(await h.setHidden('olga', board, post, true)).toEqual({ hidden: true })
    expect(await h.setHidden('olga', board, post, false)).toEqual({ hidden: false })
    expect(h.charged).toHaveLength(3)
  })

  test('many concurrent requests to hide and restore: flag and feed agree', async () => {
    await using h = await startHarness()
    const { board, post } = await startScene(h)
    const other = h.startProcess()
    for (let round = 0; round < 5; round += 1) {
      await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          (index % 2 === 0 ? h : other).setHidden('olga', board, post, index % 3 === 0),
        ),
      )
      const hidden = (await outcomeOf(h.read(null, post))) === 'not_found'
      expect((await h.feed(null, board)).ids.includes(post)).toBe(!hidden)
    }
  })
})
