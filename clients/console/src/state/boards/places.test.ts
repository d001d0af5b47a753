import type { Message } from '@svc/contracts/resources.ts'
import { expect, test } from 'vitest'
import { newPosts, successorOf } from './places.ts'

function post(id: string, from = 'bob'): Message {
  return { envelope: { id, from } } as Message
}

test.each([
  ['nothing is unread', 0, []],
  ['one', 1, ['c']],
  ['own posts are not counted', 2, ['b', 'c']],
  ['more events than posts: some are hidden', 9, ['a', 'b', 'c']],
] as const)('the newest posts of other agents are new: %s', (_, count, expected) => {
  const posts = [post('a'), post('b'), post('own', 'alice'), post('c'), post('own2', 'alice')]
  expect([...newPosts(posts, count, (from) => from === 'alice')]).toEqual(expected)
})

test.each([
  ['the next one', 'b', ['a', 'c'], 'c'],
  ['the first that remains', 'b', ['a', 'd'], 'd'],
  ['nothing after the last one', 'd', ['a', 'b', 'c'], undefined],
  ['nothing in an empty feed', 'a', [], undefined],
] as const)('what follows a post that is gone: %s', (_, gone, after, expected) => {
  expect(successorOf(gone, ['a', 'b', 'c', 'd'], after)).toBe(expected)
})
