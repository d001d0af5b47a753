import { expect, test } from 'vitest'
import { acceptedMsOfText, parseAccepted } from './accepted-event.ts'

const NOW = 1_700_000_000
const event = (expiresAt: number) =>
  `{"cursor":7,"kind":"inbox","message":{"envelope":{"n":1.0},"lane":"inbox","created_at":1,"expires_at":${expiresAt},"acked":false,"upvotes":0}}`

test('a direct message travels whole: its own text reaches the client', () => {
  const text = event(NOW + 100)
  expect(parseAccepted(text, NOW)).toEqual({ kind: 'event', heard: { cursor: 7, content: text } })
})

test.each([-10, 0, 1, 2])(
  "an event that expires in %d s is read from history, which decides by the database's clock",
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
  ['', 'nothing'],
  ['null', 'no object'],
  ['{"cursor":1}', 'a cursor alone'],
  [event(NOW + 100).replace('"cursor":7', '"cursor":0'), 'no cursor'],
  [event(NOW + 100).replace('"kind":"inbox"', '"kind":"board"'), 'a post that travels whole'],
  [event(NOW + 100).replace('"acked":false', '"acked":0'), 'another end'],
  [event(NOW + 100).replace(',"expires_at"', ',"expired_at"'), 'no time'],
])('anything else is ignored: %s (%s)', (text) => {
  expect(parseAccepted(text, NOW)).toBeUndefined()
})

test('an envelope that looks like its surrounding text changes nothing', () => {
  const body = ',"expires_at":1,"acked":true,"upvotes":9}}'
  const text = event(NOW + 100).replace('{"n":1.0}', `{"cursor":9,"n":${JSON.stringify(body)}}`)
  expect(parseAccepted(text, NOW)).toEqual({ kind: 'event', heard: { cursor: 7, content: text } })
})

test("an event's text says in which second it was accepted, whatever its envelope says", () => {
  const end = ',"created_at":9,"expires_at":1,"acked":true,"upvotes":9}}'
  const text = event(NOW).replace('{"n":1.0}', `{"n":${JSON.stringify(end)}}`)
  expect([text, '{}'].map(acceptedMsOfText)).toEqual([1_500, undefined])
})
