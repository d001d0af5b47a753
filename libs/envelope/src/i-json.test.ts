import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { brokenTexts, jsonTexts, jsonValues } from '../test/json-texts.ts'
import { referenceIJson } from '../test/reference-json.ts'
import { IJsonError, type ParsedJson, parseIJson } from './i-json.ts'

const utf8 = new TextEncoder()
const parseText = (text: string): ParsedJson => parseIJson(utf8.encode(text))
const nested = (open: string, inner: string, close: string, levels: number) =>
  open.repeat(levels) + inner + close.repeat(levels)

/** Holds the parser to the reference; anything thrown but IJsonError fails the test. Returns whether the bytes were accepted. */
function sameAsReference(bytes: Uint8Array): boolean {
  const expected = referenceIJson(bytes)
  let parsed: ParsedJson
  try {
    parsed = parseIJson(bytes)
  } catch (error) {
    expect(error).toBeInstanceOf(IJsonError)
    expect(expected).toHaveProperty('refused')
    return false
  }
  expect(parsed).toStrictEqual(expected) // strict: tells -0 from 0
  return true
}

describe('decisions 6: JSON bodies are I-JSON', () => {
  test.each([
    ['a duplicate member', '{"a":1,"a":1}', 'duplicate member names'],
    ['a duplicate spelled with escapes', '{"a":1,"\\u0061":2}', 'duplicate member names'],
    ['a duplicate spelled with another escape', '{"/":1,"\\/":2}', 'duplicate member names'],
    ['a duplicate deep inside', '[{"x":[{"b":0,"c":{},"b":null}]}]', 'duplicate member names'],
    ['a duplicate of an empty name', '{"":1,"":2}', 'duplicate member names'],
    ['a duplicate with integers for names', '{"1":1,"0":2,"1":3}', 'duplicate member names'],
    ['a lone high surrogate', '"\\ud83d"', 'a lone surrogate'],
    ['a lone low surrogate', '"\\ude00"', 'a lone surrogate'],
    ['surrogates the wrong way round', '"\\ude00\\ud83d"', 'a lone surrogate'],
    ['a lone surrogate in a name', '{"\\uD800":1}', 'a lone surrogate'],
    ['a member __proto__', '{"__proto__":1}', 'a member named __proto__'],
    ['a member __proto__ deep inside', '[[{"a":{"__proto__":{}}}]]', 'a member named __proto__'],
    ['a member __proto__ spelled with escapes', '{"\\u005f_proto\\u005F_":1}', 'a member named __proto__'],
    ['a byte order mark', '\ufeff{}', 'a byte order mark'],
    ['a number beyond a double', '1e400', 'a number beyond a double'],
    ['a negative number beyond a double', '[-1e400]', 'a number beyond a double'],
    ['a number beyond a double, in digits', `{"n":${'9'.repeat(310)}}`, 'a number beyond a double'],
    ['65 levels of arrays', nested('[', '', ']', 65), 'more than 64 levels of brackets'],
    ['65 levels of objects', nested('{"a":', '1', '}', 65), 'more than 64 levels of brackets'],
    ['65 levels of both', nested('[{"a":', '[]', '}]', 32), 'more than 64 levels of brackets'],
    ['nothing', '', 'not JSON'],
    ['white space alone', ' \n', 'not JSON'],
    ['two values', '1 2', 'not JSON'],
    ['a trailing comma', '[1,]', 'not JSON'],
    ['a comment', '{}//', 'not JSON'],
    ['a raw line feed in a string', '"\n"', 'not JSON'],
    ['a string without end', '"abc', 'not JSON'],
    ['a string that ends in a backslash', '"abc\\', 'not JSON'],
    ['a leading zero', '01', 'not JSON'],
    ['other white space', '[1,\u00a02]', 'not JSON'],
    ['a closing bracket too many', '[]]', 'not JSON'],
  ])('refused: %s', (_, text, reason) => {
    expect(() => parseText(text)).toThrow(new IJsonError(reason))
  })

  test.each([
    ['a byte that cannot be', [0x22, 0xff, 0x22]],
    ['a continuation alone', [0x22, 0x80, 0x22]],
    ['an overlong slash', [0x22, 0xc0, 0xaf, 0x22]],
    ['a surrogate in UTF-8', [0x22, 0xed, 0xa0, 0xbd, 0x22]],
    ['a code point past 10FFFF', [0x22, 0xf4, 0x90, 0x80, 0x80, 0x22]],
    ['a sequence cut short', [0x22, 0xe2, 0x82]],
    ['UTF-16', [0x22, 0x00, 0x61, 0x00, 0x22, 0x00]],
  ])('refused: not UTF-8: %s', (name, bytes) => {
    expect(() => parseIJson(Uint8Array.from(bytes))).toThrow(
      new IJsonError(name === 'UTF-16' ? 'not JSON' : 'not UTF-8'),
    )
  })

  test.each([
    ['64 levels of arrays', nested('[', '', ']', 64)],
    ['64 levels of objects', nested('{"a":', '1', '}', 64)],
    ['many brackets side by side', `[${Array(500).fill('[{}]').join(',')}]`],
    ['brackets in strings', `"${'[{'.repeat(100)}"`],
    ['U+0000 in a string', '"a\\u0000b"'],
    ['U+0000 in a name', '{"\\u0000":1}'],
    ['a pair of surrogates', '"\\ud83d\\ude00"'],
    ['__proto__ as a value', '{"a":"__proto__"}'],
    ['constructor and prototype as names', '{"constructor":{"prototype":1},"toString":2,"hasOwnProperty":3}'],
    ['a byte order mark inside', '"\ufeff"'],
    ['colons and quotes in strings', '{"a:\\":b":":,{\\"\\\\"}'],
    ['one name in several objects', '[{"a":{"a":1}},{"a":2}]'],
    ['a number at the top', '1'],
    ['the largest double', '1.7976931348623157e308'],
  ])('accepted: %s', (_, text) => {
    expect(parseText(text)).toEqual({ value: JSON.parse(text), text })
  })

  test.each([
    ['9007199254740993', 9007199254740992],
    ['0.1000000000000000055511151231257827', 0.1],
    ['1e-400', 0],
    ['-0', -0],
    ['1.0', 1],
  ])('a number that is only too precise is the nearest double, and its text is kept: %s', (text, value) => {
    expect(parseText(text)).toStrictEqual({ value, text })
  })

  test('the text is what was received without insignificant white space, nothing else changed', () => {
    const text = ' \r\n{ "b" : 1.50 ,\t"a" : [ 1e2 , "x  \\t y" , { } ] , "\\u0063" : "\\/\\u00e9é" } \n'
    expect(parseText(text).text).toBe('{"b":1.50,"a":[1e2,"x  \\t y",{}],"\\u0063":"\\/\\u00e9é"}')
  })

  test('Object.prototype is not touched by any member', () => {
    const { value } = parseText('{"constructor":1,"prototype":{"polluted":true}}')
    expect(Object.keys(value as object)).toEqual(['constructor', 'prototype'])
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })
})

describe('nodejs/node#63785: names with escapes are what they say, whatever was parsed before', () => {
  test.each([
    ['{"q1":0,"\\\\":0}', '{"q1":0,"\\u00e9":0}', { q1: 0, é: 0 }],
    ['{"q2":0,"\\\\u00":0}', '{"q2":0,"\\u0066rom":0}', { q2: 0, from: 0 }],
    ['{"q3":0,"a\\\\\\"":0}', '{"q3":0,"a\\"b":0}', { q3: 0, 'a"b': 0 }],
    ['{"q4":0,"\\\\":0}', '{"q4":0,"\\"":0}', { q4: 0, '"': 0 }],
    [
      '{"q5":0,"\\\\u":0}',
      '[ [ {"q5" : 0 , "\\u0061b" : -1.5e1 , "c" : { } } ] , true\n]',
      [[{ q5: 0, ab: -15, c: {} }], true],
    ],
  ])('%s, then %s', (before, text, value) => {
    for (let i = 0; i < 3; i++) parseText(before)
    expect(parseText(text).value).toEqual(value)
  })

  test('a duplicate is found behind it', () => {
    for (let i = 0; i < 3; i++) parseText('{"a":true,"e":true,"\\\\":true}')
    expect(() => parseText('{"a":true,"e":true,"\\u0061":true}')).toThrow('duplicate member names')
  })
})

describe('the parser agrees with the reference', () => {
  test('property: on JSON with odd spellings, white space, duplicates and lone surrogates', () => {
    let accepted = 0
    const runs = 3000
    fc.assert(
      fc.property(jsonTexts, (text) => {
        if (sameAsReference(utf8.encode(text))) accepted++
      }),
      { numRuns: runs },
    )
    expect(accepted).toBeGreaterThan(runs / 4)
    expect(accepted).toBeLessThan(runs)
  }, 60_000)

  test('property: on JSON with some bytes replaced', () => {
    fc.assert(
      fc.property(brokenTexts, (bytes) => {
        sameAsReference(bytes)
      }),
      { numRuns: 5000 },
    )
  }, 60_000)

  test('property: on any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        sameAsReference(bytes)
      }),
      { numRuns: 2000 },
    )
  }, 60_000)

  test('property: what JSON.stringify writes comes back, with and without white space', () => {
    fc.assert(
      fc.property(jsonValues, fc.constantFrom(0, 1, '\t'), (value, space) => {
        const parsed = parseText(JSON.stringify(value, null, space))
        expect(parsed.value).toEqual(JSON.parse(JSON.stringify(value)))
        expect(parsed.text).toBe(JSON.stringify(value))
      }),
      { numRuns: 1000 },
    )
  }, 60_000)
})

describe('96 KiB of hostile input take no longer than their length explains', () => {
  const SIZE = 96 * 1024
  const fill = (unit: string) => unit.repeat(Math.floor(SIZE / unit.length))
  test.each([
    ['open brackets', fill('[')],
    ['open objects', fill('{"a":')],
    ['quotes', fill('"')],
    ['escaped quotes without end', `"${fill('\\"')}`],
    ['backslashes without end', `"${fill('\\')}`],
    ['strings of backslashes', `[${fill('"\\\\\\\\",')}0]`],
    ['white space', fill(' ')],
    ['white space between everything', `[${fill(' 1 ,')}1]`],
    ['digits', fill('9')],
    ['digits after the point', `0.${fill('9')}`],
    ['digits in the exponent', `1e${fill('9')}`],
    ['zeros in the exponent', `1e-${fill('0')}1`],
    ['colons', fill(':')],
    ['commas', fill(',')],
    ['one name again and again', `{${fill('"a":1,')}"a":1}`],
    ['names with escapes', `{${fill('"\\u0061":["\\n"],')}"b":1}`],
    ['names that are different', `{${Array.from({ length: 9000 }, (_, i) => `"k${i}":1`).join(',')}}`],
    [
      'names that are integers far apart',
      `{${Array.from({ length: 6000 }, (_, i) => `"${i * 700_001}":1`).join(',')}}`,
    ],
    ['names that are integers downwards', `{${Array.from({ length: 9000 }, (_, i) => `"${9000 - i}":1`).join(',')}}`],
    ['escapes', `"${fill('\\u0041')}"`],
    ['pairs of surrogates', `"${fill('\\ud83d\\ude00')}"`],
    ['64 levels, many times', `[${fill(`${nested('[', '', ']', 63)},`)}0]`],
    ['letters of two bytes', fill('é')],
  ])('%s', (_, text) => {
    const bytes = utf8.encode(text)
    const before = process.threadCpuUsage()
    try {
      parseIJson(bytes)
    } catch (error) {
      expect(error).toBeInstanceOf(IJsonError)
    }
    // Measured: 0.1 to 6 ms of CPU. Something quadratic would take seconds.
    const { user, system } = process.threadCpuUsage(before)
    expect((user + system) / 1_000).toBeLessThan(500)
  })
})
