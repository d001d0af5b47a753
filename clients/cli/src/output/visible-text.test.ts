import { anyCodePoint } from '@svc/test/support/any-text.ts'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { visibleJson, visibleText } from './visible-text.ts'

const anyText = fc.string({ unit: anyCodePoint, maxLength: 200 })
// Characters that terminals act on: C0 except tab and line feed, DEL and C1. Also marks that change the reading order.
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern searches for control characters
const ACTIVE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u2028\u2029]/

test('the output has no character that a terminal acts on, for any text', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      expect(visibleText(text)).not.toMatch(ACTIVE)
    }),
  )
})

test('JSON has no character that a terminal acts on, and keeps its value', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: anyCodePoint }), (value) => {
      const json = visibleJson(value)
      expect(json).not.toMatch(ACTIVE)
      expect(json).not.toContain('\n')
      expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(value)))
    }),
  )
})

test.each([
  ['plain', 'hello'],
  ['lines and tabs', 'a\n\tb'],
  ['scripts', 'žluťoučký кот 漢字 مرحبا'],
  ['joined emoji', '👨‍👩‍👧'],
])('%s: unchanged', (_, text) => {
  expect(visibleText(text)).toBe(text)
})

test.each([
  ['an escape sequence', '\u001b[2J', '\\u{1b}[2J'],
  ['a C1 control', '\u009b2J', '\\u{9b}2J'],
  ['a carriage return', 'a\rb', 'a\\u{d}b'],
  ['a direction mark', 'a\u202eb', 'a\\u{202e}b'],
  ['a tag', 'a\u{e0041}b', 'a\\u{e0041}b'],
  ['a lone surrogate', 'a\ud800b', 'a\ufffdb'],
])('%s is escaped', (_, text, shown) => {
  expect(visibleText(text)).toBe(shown)
})
