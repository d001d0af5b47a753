import { describe, expect, test } from 'vitest'
import { type Harness, newId, startHarness } from '../support/harness.ts'

async function readAll(h: Harness, board: string, threadId: string | null, limit: number): Promise<string[]> {
  const ids: string[] = []
  let after: string | null = null
  do {
    const page: Awaited<ReturnType<Harness['feed']>> = await h.feed(null, board, { thread_id: threadId, after, limit })
    expect(page.ids.length).toBe(page.next === '' ? page.ids.length : limit)
    ids.push(...page.ids)
    after = page.next
  } while (after !== '')
  return ids
}

describe('spec 7.9, 7.12, 8.8, 8.9: GET /v2/boards/{board}/messages: a feed', () => {
  test('every board, thread and page size gives the same as a filter over all posts, in order of arrival', async () => {
    await using h = await startHarness()
    const boards = [h.boards.create('olga', { posting: 'anyone' }), h.boards.create('olga', { posting: 'anyone' })]
    const all: { id: string; board: string; threadId: string | null; shown: boolean }[] = []
    const add = async (from: string, board: string, threadId?: string) => {
      const { id } = await h.send({ from, to: board, ...(threadId === undefined ? {} : { threadId }) })
      all.push({ id, board, threadId: threadId ?? null, shown: true })
      return id
    }
    const [first = '', second = ''] = boards
    const roots = [await add('alice', first), await add('bob', second), await add('olga', first)]
    for (let round = 0; round < 6; round += 1) {
      await add('bob', first, roots[0])
      await add('carol', second, roots[1])
      await add('olga', first, roots[2])
      await add('alice', first)
      await add('bob', second)
    }
    for (const [index, post] of all.entries()) {
      if (index % 5 === 2) await h.setHidden('olga', post.board, post.id, true)
      if (index % 7 === 3) await h.expire(post.id)
      post.shown = index % 7 !== 3 && index % 5 !== 2
    }

    const threads = [null, ...roots, all.find(({ threadId }) => threadId !== null)?.id ?? '', newId(), 'x', '\0', '']
    let listed = 0
    for (const board of boards) {
      for (const thread of threads) {
        const expected = all
          .filter((post) => post.shown && post.board === board)
          .filter(({ id, threadId }) => thread === null || threadId === thread || (id === thread && threadId === null))
          .map(({ id }) => id)
        listed += expected.length
        for (const limit of [1, 3, 100]) {
          const found = await readAll(h, board, thread, limit)
          expect({ board, thread, limit, found }).toEqual({ board, thread, limit, found: expected })
        }
      }
    }
    expect(listed).toBeGreaterThan(30)
  })

  test('spec 7.9: a page has fewer than `limit` posts if their bytes would exceed 512 KiB, and says that there is more', async () => {
    await using h = await startHarness()
    const board = h.boards.create('olga')
    for (let count = 0; count < 17; count += 1) await h.send({ from: 'olga', to: board, body: 'x'.repeat(32_000) })
    const page = await h.feed(null, board)
    expect(page.ids).toHaveLength(16)
    expect(Buffer.byteLength(page.text)).toBeLessThanOrEqual(512 * 1024 + 100)
    expect((await h.feed(null, board, { after: page.next })).ids).toHaveLength(1)
  })

  test('positions continue after a purge, and cursors stay valid', async () => {
    await using h = await startHarness()
    const board = h.boards.create('olga')
    const gone = [await h.send({ from: 'olga', to: board }), await h.send({ from: 'olga', to: board })]
    const { next } = await h.feed(null, board, { limit: 1 })
    await h.expire(...gone.map(({ id }) => id))
    await h.purge()
    const { id } = await h.send({ from: 'olga', to: board })
    expect((await h.feed(null, board, { after: next })).ids).toEqual([id])
  })
})
