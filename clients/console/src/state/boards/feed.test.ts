import type { Message } from '@svc/contracts/resources.ts'
import type { AgentClient } from '@svc/sdk/client.ts'
import { createListing } from '@svc/sdk/http/listing.ts'
import { expect, test } from 'vitest'
import { Feed, threadsOf } from './feed.ts'

function post(id: string, thread_id?: string, upvotes = 0): Message {
  return {
    created_at: Number(id) || 0,
    upvotes,
    envelope: { id, ...(thread_id === undefined ? {} : { thread_id }) },
  } as Message
}

/** A board of pages with two posts. Its cursors are positions, so they outlive a post that disappears. */
function createBoard(count: number): { posts: (Message | undefined)[]; asked: number[]; feed: Feed } {
  const posts: (Message | undefined)[] = Array.from({ length: count }, (_, index) => post(String(index + 1)))
  const asked: number[] = []
  const list = (_: string, { after }: { after?: string }) =>
    createListing<Message>(async (cursor) => {
      const start = Number(cursor ?? 0)
      asked.push(start)
      const items = posts.slice(start, start + 2).filter((one) => one !== undefined)
      return { items, next: start + 2 < posts.length ? String(start + 2) : '' }
    }, after)
  const client = { feed: list } as unknown as AgentClient
  return { posts, asked, feed: new Feed({ client, ended: new AbortController().signal }, 'board') }
}

const idsOf = ({ posts }: Feed): string[] | undefined => posts.value?.map(({ envelope }) => envelope.id)
const votesOf = ({ posts }: Feed): number[] | undefined => posts.value?.map(({ upvotes }) => upvotes)

test('posts are grouped by thread, newest thread first and its posts oldest first', () => {
  const posts = [post('a'), post('a1', 'a'), post('b'), post('c', 'gone'), post('a2', 'a'), post('b1', 'b')]
  const threads = threadsOf(posts).map(({ root, replies }) => [root, ...replies].map(({ envelope }) => envelope.id))
  expect(threads).toEqual([['c'], ['b', 'b1'], ['a', 'a1', 'a2']])
})

test('the last pages are read again: new posts appear, hidden ones go, votes change', async () => {
  const { posts, asked, feed } = createBoard(6)
  await feed.readMore()
  expect(idsOf(feed)).toEqual(['1', '2', '3', '4', '5', '6'])
  const before = feed.posts.value
  await feed.refresh()
  expect(feed.posts.value).toBe(before)

  asked.length = 0
  posts[2] = undefined
  posts[5] = post('6', undefined, 4)
  posts.push(post('7'))
  await feed.refresh()
  expect(asked).toEqual([2, 4, 6])
  expect(idsOf(feed)).toEqual(['1', '2', '4', '5', '6', '7'])
  expect(votesOf(feed)).toEqual([0, 0, 0, 0, 4, 0])
})

test('a long board is read up to a bound, and on from there', async () => {
  const { feed } = createBoard(30)
  await feed.readMore()
  expect([idsOf(feed)?.length, feed.hasMore.value]).toEqual([20, true])
  await feed.readMore()
  expect([idsOf(feed)?.length, feed.hasMore.value]).toEqual([30, false])
})

test('an own vote is counted at once, is not lost to a reading, and is taken back if it is refused', async () => {
  const { posts, feed } = createBoard(1)
  await feed.readMore()
  await feed.countWhile('1', 1, async () => {
    expect(votesOf(feed)).toEqual([1])
    // The service has not counted it yet.
    await feed.refresh()
    expect(votesOf(feed)).toEqual([1])
    posts[0] = post('1', undefined, 1)
  })
  await feed.refresh()
  expect(votesOf(feed)).toEqual([1])
  const refused = feed.countWhile('1', -1, async () => {
    expect(votesOf(feed)).toEqual([0])
    throw new Error('refused')
  })
  await expect(refused).rejects.toThrow('refused')
  expect(votesOf(feed)).toEqual([1])
})

test('a post that was hidden during a reading stays away, and returns to its old place', async () => {
  const { posts, feed } = createBoard(3)
  await feed.readMore()
  const reading = feed.refresh()
  const hidden = posts[1] as Message
  posts[1] = undefined
  feed.remove('2')
  await reading
  expect(idsOf(feed)).toEqual(['1', '3'])
  feed.add(hidden)
  expect(idsOf(feed)).toEqual(['1', '2', '3'])
})
