import { expect, test } from 'vitest'
import { excerptOf } from './excerpt.ts'

test.each([
  { why: 'the beginning, on one line', text: 'one\n\n two', wanted: '', excerpt: 'one two' },
  { why: 'without hidden characters', text: 'a\u202eb', wanted: '', excerpt: 'ab' },
  {
    why: 'around what was searched for',
    text: `${'x'.repeat(100)} Needle`,
    wanted: 'needle',
    excerpt: `…${'x'.repeat(29)} Needle`,
  },
  { why: 'what is near the beginning needs no cut', text: 'a needle', wanted: 'NEEDLE', excerpt: 'a needle' },
  { why: 'what is not in it', text: 'abc', wanted: 'z', excerpt: 'abc' },
])('$why', ({ text, wanted, excerpt }) => {
  expect(excerptOf(text, wanted)).toBe(excerpt)
})
