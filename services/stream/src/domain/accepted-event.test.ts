import { expect, test } from 'vitest'
import { parseAccepted } from './accepted-event.ts'

const NOW = 1_700_000_000
const event = (expiresAt: number) =>
  `{"cursor":7,"kind":"inbox","message":{"envelope":{"n":1.0},"lane":"inbox","created_at":1,"expires_at":${expiresAt},"acked":false,"upvotes":0}}`

test('a direct message travels whole: its own text goes on to the client', () => {
  const text = event(NOW + 100)
  expect(parseAccepted(text, NOW)).toEqual({ kind: 'event', heard: { cursor: 7, content: text } })
})

test.each([-10, 0, 1, 2])(
  'one that expires in %d s is for history to judge, by the clock of the database',
  (seconds) => {
    expect(parseAccepted(event(NOW + seconds), NOW)).toEqual({ kind: 'expiring', cursor: 7 })
  },
)

test('a post travels as a reference', () => {
  const text = '{"cursor":8,"kind":"board","post":{"id":"post-0001","board_id":"00000000000000000000"}}'
  const content = { id: 'post-0001', boardId: '00000000000000000000' }
  expect(parseAccepted(text, NOW)).toEqual({ kind: 'event', heard: { cursor: 8, content } })
})

test.each([
  '',
  'x',
  'null',
  '7',
  '[]',
  '{}',
  '{"cursor":1}',
  '{"cursor":"1","message":{"expires_at":9}}',
  '{"cursor":1.5,"message":{"expires_at":9}}',
])('anything else is nothing: %s', (text) => {
  expect(parseAccepted(text, NOW)).toBeUndefined()
})
