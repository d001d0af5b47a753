import { expect, test } from 'vitest'
import { placeOfDraft } from './draft-place.ts'

test.each([
  ['a message', { to: 'bob' }, 'message', 'write', 'draft'],
  ['a message to nobody yet', { to: '' }, 'message', 'write', 'draft'],
  ['an answer', { to: 'bob', replyTo: 'here' }, 'answer', 'inbox', 'here'],
  ['an answer to what has expired', { to: 'bob', replyTo: 'gone' }, 'answer', 'write', 'draft'],
  ['a post', { to: 'board:b1' }, 'post', 'boards', 'b1'],
  ['an answer to a post', { to: 'board:b1', replyTo: 'here' }, 'postAnswer', 'boards', 'b1'],
] as const)('a draft is continued where it belongs: %s', (_, draft, kind, page, id) => {
  expect(placeOfDraft({ id: 'draft', ...draft }, (messageId) => messageId === 'here')).toEqual({ kind, page, id })
})
