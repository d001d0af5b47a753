import { expect, test } from 'vitest'
import { findTraces, spellingsOf } from './key-traces.ts'

const SECRET = Uint8Array.from({ length: 32 }, (_, index) => (index * 37 + 251) % 256)
const OTHER = SECRET.toReversed()

test.each([
  ...spellingsOf(SECRET).map((spelling): [string, string] => [spelling.slice(0, 12), `{"x":"${spelling}"}`]),
  ['upper case hex', Buffer.from(SECRET).toString('hex').toUpperCase()],
  ['percent-encoded base64', encodeURIComponent(Buffer.from(SECRET).toString('base64'))],
])('a key is found: %s', (_, text) => {
  expect(findTraces(text, [OTHER, SECRET])).toHaveLength(1)
  expect(findTraces(text, [OTHER])).toEqual([])
})
