import { expect, test } from 'vitest'
import { mayPost } from './may-post.ts'

test.each([
  ['owner', 'alice', 'members', undefined, false, 'yes'],
  ['anybody, if all may post', 'bob', 'anyone', false, false, 'yes'],
  ['writer', 'bob', 'members', true, false, 'yes'],
  ['no writer any more', 'bob', 'members', false, true, 'no'],
  ['somebody who has posted', 'bob', 'members', undefined, true, 'yes'],
  ['somebody else', 'bob', 'members', undefined, false, 'unknown'],
] as const)('who may post: %s', (_, agentId, posting, isWriter, hasPosted, expected) => {
  expect(mayPost({ owner: 'alice', posting }, { agentId, isWriter, hasPosted })).toBe(expected)
})
