import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { brokenTexts, jsonTexts, jsonValues } from '../test/json-texts.ts'
import { referenceIJson } from '../test/reference-json.ts'
import { type ParsedJson, parseIJson, parseOrOutline } from './i-json.ts'
import { IJsonError } from './json-value.ts'

const utf8 = new TextEncoder()
const parseText = (text: string): ParsedJson => parseIJson(utf8.encode(text))
const nested = (open: string, inner: string, close: string, levels: number) =>
  open.repeat(levels) + inner + close.repeat(levels)

/** Compares the parser with the reference. Any error except an IJsonError fails the test. @returns whether the bytes were accepted. */
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
  expect(parsed).toStrictEqual(expected) // strict, because -0 must differ from 0
  return true
}

// docs/vectors/refused-json.json has the texts that are refused.
describe('spec 2.5: JSON bodies are I-JSON', () => {
  test.each([
    ['9007199254740993', 9007199254740992],
    ['0.1000000000000000055511151231257827', 0.1],
    ['1e-400', 0],
    ['-0', -0],
    ['1.0', 1],
  ])('a number with too many digits becomes the nearest double: %s', (text, value) => {
    expect(parseText(text).value).toStrictEqual(value)
  })

  test('no member changes Object.prototype', () => {
    const { value } = parseText('{"constructor":1,"prototype":{"polluted":true}}')
    expect(Object.keys(value as object)).toEqual(['constructor', 'prototype'])
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })
})

describe("spec 6.6: the text is JSON.stringify's output for the value", () => {
  test.each([
    ['white space', ' \r\n{ "b" : 1 ,\t"a" : [ "x  y" , { } ] } \n', '{"b":1,"a":["x  y",{}]}'],
    ['zeros after the point', `1.${'0'.repeat(90_000)}`, '1'],
    ['zeros in the exponent', `1e${'0'.repeat(90_000)}`, '1'],
    ['digits beyond the precision of a double', `0.1${'0'.repeat(60_000)}1`, '0.1'],
    [
      'exponents',
      '[1E2,1e+2,1e21,1E-7,0.0000001,123456789012345678901]',
      '[100,100,1e+21,1e-7,1e-7,123456789012345680000]',
    ],
    ['zero below zero', '[-0,-0.0,-1e-400]', '[0,0,0]'],
    ['escapes of letters', '"\\u0061\\u00E9\\u20aC\\ud83D\\uDE00"', '"aé€😀"'],
    ['an escaped slash', '"\\/"', '"/"'],
    [
      'escapes that JSON.stringify writes',
      '"\\"\\\\\\b\\f\\n\\r\\t\\u0000\\u001f"',
      '"\\"\\\\\\b\\f\\n\\r\\t\\u0000\\u001f"',
    ],
    ['those spelled otherwise', '"\\u0022\\u005C\\u0008\\u000A\\u001F"', '"\\"\\\\\\b\\n\\u001f"'],
    ['line separators', '"\\u2028\u2029\\u007f"', '"\u2028\u2029\u007f"'],
    ['a backslash before what looks like a surrogate', '"\\\\ud83d"', '"\\\\ud83d"'],
    ['escapes in names', '{"\\u0061":{"\\u005f_proto":1}}', '{"a":{"__proto":1}}'],
    [
      'names that look like __proto__',
      '{"x\\"__proto__":1,"y,\\"__proto__":2}',
      '{"x\\"__proto__":1,"y,\\"__proto__":2}',
    ],
    ['names that are integers', '{"b":1,"10":2,"9":3,"":4,"01":5}', '{"9":3,"10":2,"b":1,"":4,"01":5}'],
    ['null beside a long number', '[null,1e5]', '[null,100000]'],
  ])('%s', (_, text, written) => {
    expect(parseText(text).text).toBe(written)
    expect(parseText(written).text).toBe(written)
  })

  test('property: any value that was sent, and its own output again', () => {
    fc.assert(
      fc.property(jsonTexts, (sent) => {
        const bytes = utf8.encode(sent)
        // Not JSON.parse, which misreads some names with escapes (nodejs/node#63785).
        const reference = referenceIJson(bytes)
        if ('refused' in reference) return
        const { text } = parseIJson(bytes)
        expect(text).toBe(reference.text)
        expect(parseText(text).text).toBe(text)
      }),
      { numRuns: 2000 },
    )
  }, 60_000)
})

describe('a value with more members than any accepted one is checked like any other, but only outlined', () => {
  const outline = (text: string, ...names: string[]) =>
    parseOrOutline(utf8.encode(text), { membersMax: 0, names: new Set(names) })

  test.each([
    ['the members that were named', '{"a":1,"b":"x","c":null}', ['c', 'a'], { a: 1, b: 'x', c: null }],
    ['the first of all others', '{"x":1,"a":2,"y":3,"z":4}', ['a'], { x: 1, a: 2 }],
    ['their arrays and objects empty', '{"a":{"b":1},"c":[{"d":[2]},3]}', ['a', 'c'], { a: {}, c: [] }],
    ['names by their meaning', '{"\\u0061":"\\u0062","b":1,"c":2}', ['a'], { a: 'b', b: 1 }],
    ['numbers', '{"a":-1.5e1,"b":0,"c":1}', ['a', 'b'], { a: -15, b: 0, c: 1 }],
    ['nothing of an array', '[{"a":1},2]', ['a'], []],
  ])('it has %s', (_, text, names, value) => {
    expect(outline(text, ...names)).toEqual({ value, text: null })
  })

  test('up to the bound the value is complete', () => {
    const bytes = utf8.encode('{"a":{"b":[1]}}')
    const names = new Set<string>()
    expect(parseOrOutline(bytes, { membersMax: 2, names })).toEqual({
      value: { a: { b: [1] } },
      text: '{"a":{"b":[1]}}',
    })
    expect(parseOrOutline(bytes, { membersMax: 1, names }).text).toBeNull()
  })

  test('property: it is refused exactly if the reference refuses it', () => {
    const inputs = fc.oneof(
      jsonTexts.map((text) => utf8.encode(`{"a":${text}}`)),
      jsonTexts.map((text) => utf8.encode(text)),
      brokenTexts,
    )
    let refusals = 0
    fc.assert(
      fc.property(inputs, (bytes) => {
        const isRefused = 'refused' in referenceIJson(bytes)
        if (isRefused) refusals++
        let thrown: unknown
        try {
          parseOrOutline(bytes, { membersMax: 0, names: new Set(['a']) })
        } catch (error) {
          thrown = error
        }
        expect(thrown instanceof IJsonError).toBe(isRefused)
        expect(thrown === undefined).toBe(!isRefused)
      }),
      { numRuns: 5000 },
    )
    expect(refusals).toBeGreaterThan(500)
  }, 60_000)
})

describe('nodejs/node#63785: names with escapes are read correctly, whatever was parsed before', () => {
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

  test('a duplicate is found after it', () => {
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

  test("property: JSON.stringify's output comes back, with and without white space", () => {
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

describe('96 KiB of hostile input take only linear time', () => {
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
    ['white space between all tokens', `[${fill(' 1 ,')}1]`],
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
    [
      'names that are integers in descending order',
      `{${Array.from({ length: 9000 }, (_, i) => `"${9000 - i}":1`).join(',')}}`,
    ],
    ['escapes', `"${fill('\\u0041')}"`],
    ['pairs of surrogates', `"${fill('\\ud83d\\ude00')}"`],
    ['64 levels, many times', `[${fill(`${nested('[', '', ']', 63)},`)}0]`],
    ['two-byte letters', fill('é')],
  ])('%s', (_, text) => {
    const bytes = utf8.encode(text)
    const before = process.threadCpuUsage()
    for (const parse of [
      parseIJson,
      (all: Uint8Array) => parseOrOutline(all, { membersMax: 3_212, names: new Set() }),
    ]) {
      try {
        parse(bytes)
      } catch (error) {
        expect(error).toBeInstanceOf(IJsonError)
      }
    }
    // Measured: 0.1 to 6 ms of CPU. A quadratic algorithm would take seconds.
    const { user, system } = process.threadCpuUsage(before)
    expect((user + system) / 1_000).toBeLessThan(500)
  })
})
