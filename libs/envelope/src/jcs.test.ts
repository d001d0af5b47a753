import { createHash, hash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { jsonValues } from '../test/json-texts.ts'
import { readVectors } from '../test/vectors.ts'
import { parseIJson } from './i-json.ts'
import { jcs, jcsBytes, jcsDigest } from './jcs.ts'
import type { JsonValue } from './json-value.ts'

/** The same value with the members of its objects in reverse order. */
function reversed(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, item]) => [name, reversed(item)]),
  )
}

// test/judges/crypto.test.ts compares it with another implementation on random values.
describe('spec 2.6: canonical JSON is RFC 8785', () => {
  test.each(['arrays', 'french', 'structures', 'unicode', 'values', 'weird'])('the published pair %s', (name) => {
    expect(jcs(JSON.parse(readVectors(`jcs/input/${name}.json`)))).toBe(readVectors(`jcs/output/${name}.json`))
  })

  test('the 10,000 published numbers', () => {
    const lines = readVectors('jcs/es6_numbers_10k.txt').trimEnd().split('\n')
    expect(lines).toHaveLength(10_000)
    const wrong = lines.filter((line) => {
      const [bits = '', expected] = line.split(',')
      return jcs(Buffer.from(bits.padStart(16, '0'), 'hex').readDoubleBE()) !== expected
    })
    expect(wrong).toEqual([])
  })

  test('property: it is the same value, is its own canonical form, and does not depend on the order of members', () => {
    fc.assert(
      fc.property(jsonValues, (value) => {
        const text = jcs(value)
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)))
        expect(jcs(JSON.parse(text))).toBe(text)
        expect(jcs(reversed(value as JsonValue))).toBe(text)
      }),
      { numRuns: 1000 },
    )
  }, 60_000)

  test('members are sorted by UTF-16 units, not by code points, nor integers first', () => {
    expect(jcs({ '\ufb33': 1, '😀': 2, '10': 3, '9': 4, a: 5, B: 6, '': 7 })).toBe(
      '{"":7,"10":3,"9":4,"B":6,"a":5,"😀":2,"\ufb33":1}',
    )
  })

  test('minus zero is zero, U+0000 is kept, and 64 levels are accepted', () => {
    expect(jcs([-0, '\0'])).toBe('[0,"\\u0000"]')
    const deep = `${'['.repeat(64)}${']'.repeat(64)}`
    expect(jcs(JSON.parse(deep))).toBe(deep)
  })

  test.each([
    ['a lone surrogate', '\ud800'],
    ['a lone surrogate in a name', { '\udc00': 1 }],
    ['a lone surrogate deep inside', [{ a: ['\ud83d'] }]],
    ['NaN', Number.NaN],
    ['an infinity', [Number.POSITIVE_INFINITY]],
    ['undefined', undefined],
    ['a function', () => 1],
  ])('a value without a canonical form throws: %s', (_, value) => {
    expect(() => jcs(value)).toThrow(Error)
  })

  test('the bytes are UTF-8, and the digest is their SHA-256 in lower-case hex, with any implementation', () => {
    const value = { b: '€', a: [1.5, null] }
    expect(Buffer.from(jcsBytes(value)).toString()).toBe('{"a":[1.5,null],"b":"€"}')
    const expected = createHash('sha256').update('{"a":[1.5,null],"b":"€"}').digest('hex')
    expect(jcsDigest(value)).toBe(expected)
    expect(jcsDigest(value, (text) => hash('sha256', text))).toBe(expected)
  })
})

test('spec 7.4: the digest is the same for other spellings and orders of one value, and for no other value', () => {
  const digest = (text: string) => jcsDigest(parseIJson(Buffer.from(text)).value)
  const text = '{"id":"message-1","body":1}'
  expect(digest('{ "body" : 1.0 ,\n"id" : "message-1" }')).toBe(digest(text))
  expect(digest('{"\\u0069d":"\\u006dessage-1","body":1e0}')).toBe(digest(text))
  expect(digest('{"id":"message-1","body":2}')).not.toBe(digest(text))
})
