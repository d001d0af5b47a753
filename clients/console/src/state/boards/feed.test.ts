import type { Message } from '@svc/contracts/resources.ts'
import { expect, test } from 'vitest'
import { threadsOf } from './feed.ts'

function post(id: string, thread_id?: string): Message {
  return { envelope: { id, ...(thread_id === undefined ? {} : { thread_id }) } } as Message
}

test('posts are grouped by thread, newest thread first and its posts oldest first', () => {
  const posts = [post('a'), post('a1', 'a'), post('b'), post('c', 'gone'), post('a2', 'a'), post('b1', 'b')]
  const threads = threadsOf(posts).map(({ root, replies }) => [root, ...replies].map(({ envelope }) => envelope.id))
  expect(threads).toEqual([['c'], ['b', 'b1'], ['a', 'a1', 'a2']])
})
