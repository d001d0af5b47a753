import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonBody, parseBody } from './body.ts'

const cyclic: { self?: unknown } = {}
cyclic.self = cyclic

test.each<[string, unknown, string]>([
  ['undefined', undefined, 'body is undefined'],
  ['an undefined member', { items: [{}, {}, { price: undefined }] }, 'body.items[2].price is undefined'],
  ['an undefined element', [1, undefined], 'body[1] is undefined'],
  ['a hole in an array', new Array(2), 'body[0] is missing from a sparse array'],
  ['NaN', { 'unit price': Number.NaN }, 'body["unit price"] is NaN'],
  ['Infinity', [Number.NEGATIVE_INFINITY], 'body[0] is -Infinity'],
  ['an integer of more than 53 bits', { id: 2 ** 53 }, 'body.id is an integer of more than 53 bits'],
  ['such an integer in a JSON text', JSON.parse('{"id":-9007199254740993}'), 'body.id is an integer'],
  ['a bigint', { n: 1n }, 'body.n is a bigint'],
  ['a function', { f: () => 1 }, 'body.f is a function'],
  ['a symbol', Symbol('s'), 'body is a symbol'],
  ['a typed array', { bytes: new Uint8Array(2) }, 'body.bytes is a Uint8Array'],
  ['an ArrayBuffer', new ArrayBuffer(2), 'body is an ArrayBuffer'],
  ['a Map', { m: new Map() }, 'body.m is a Map'],
  ['a Set', new Set(), 'body is a Set'],
  ['a promise that was not awaited', { answer: Promise.resolve(1) }, 'body.answer is a Promise'],
  ['an error', new Error('x'), 'body is an Error'],
  ['a boxed number', Object(1), 'body is a Number'],
  ['a lone surrogate', { text: '\ud800' }, 'body.text has a lone surrogate'],
  ['a lone surrogate in a name', { '\udfff': 1 }, 'has a lone surrogate in its name'],
  ['a __proto__ member', JSON.parse('{"a":{"__proto__":1}}'), 'body.a.__proto__ is not allowed'],
  ['toJSON that gives undefined', { x: { toJSON: () => undefined } }, 'body.x has a toJSON that gives undefined'],
  ['toJSON that gives NaN', { x: { toJSON: () => Number.NaN } }, 'body.x is NaN'],
  ['an invalid date', { at: new Date(Number.NaN) }, 'body.at is an invalid date'],
  ['an object that contains itself', cyclic, 'or contains itself'],
  ['64 levels', JSON.parse(`${'['.repeat(64)}${']'.repeat(64)}`), 'nested too deep for an envelope of 64 levels'],
  ['a Buffer', { bytes: Buffer.from('hi') }, 'body.bytes is a Uint8Array'],
])('spec 2.5: a body with %s is refused, with the path of the member', (_, body, message) => {
  expect(() => jsonBody(body)).toThrow(TypeError)
  expect(() => jsonBody(body)).toThrow(message)
})

test.each([
  ['{"a":[{"id":1000000000000000000000001}]}', 'body.a[0].id is an integer of more than 53 bits'],
  ['-123456789012345678901234567890', 'body is an integer of more than 53 bits'],
  ['{"id":9007199254740993}', 'body.id is an integer of more than 53 bits'],
  ['{"a":1,"a":2}', 'the body is not I-JSON: '],
  ['{"a":1', 'the body is not I-JSON: not JSON'],
  ['{"a":1e400}', 'body.a is Infinity'],
  ['{"a":{"__proto__":1}}', 'body.a.__proto__ is not allowed'],
  ['{"id":12345678901234567890123e0}', 'body.id is a number of more than 15 digits'],
  ['[1000000000000000000000001.0]', 'body[0] is a number of more than 15 digits'],
  ['9007199254740993.5', 'body is a number of more than 15 digits'],
])('spec 2.5: the JSON text %s is refused', (text, message) => {
  expect(() => parseBody(text)).toThrow(TypeError)
  expect(() => parseBody(text)).toThrow(message)
})

test.each([
  '{"a":[1,-2.5,1e300,1.5e+25,0.1234567890123456789,9007199254740991,"1000000000000000000000001"]}',
  '"text"',
  'null',
])('the JSON text %s is read as JSON.parse reads it', (text) => expect(parseBody(text)).toEqual(JSON.parse(text)))

test.each<[unknown, string]>([
  [[undefined], 'body[0] is undefined: JSON cannot carry it'],
  [{ id: 2 ** 53 }, 'body.id is an integer of more than 53 bits, whose last digits may be wrong: send it as text'],
  ['\ud800', 'body has a lone surrogate, so it is no Unicode text'],
  [new Array(1), 'body[0] is missing from a sparse array'],
  [JSON.parse('{"__proto__":1}'), 'body.__proto__ is not allowed as a name'],
  [[new Date(Number.NaN)], 'body[0] is an invalid date'],
  [cyclic, `body${'.self'.repeat(15)}.… is nested too deep for an envelope of 64 levels, or contains itself`],
])('the message says what is true of %j', (body, message) => {
  expect(() => jsonBody(body)).toThrow(new TypeError(message))
})

test.each<[string, unknown, unknown]>([
  ['a date, as text', { at: new Date(0) }, { at: '1970-01-01T00:00:00.000Z' }],
  ['what toJSON gives', new URL('https://x.example/'), 'https://x.example/'],
  [
    'an instance of a class',
    new (class Order {
      id = 1
    })(),
    { id: 1 },
  ],
  ['an object without a prototype', Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
  ['minus zero, as zero', [-0], [0]],
  ['a large number with an exponent', 1e300, 1e300],
  ['63 levels', JSON.parse(`${'['.repeat(63)}${']'.repeat(63)}`), JSON.parse(`${'['.repeat(63)}${']'.repeat(63)}`)],
])('%s is carried', (_, body, expected) => {
  expect(jsonBody(body)).toEqual(expected)
})

test('property: any value is refused, or is carried as JSON.stringify writes it', () => {
  fc.assert(
    fc.property(
      fc.anything({ withSparseArray: true, withBigInt: true, withTypedArray: true, withDate: true }),
      (value) => {
        let body: unknown
        try {
          body = jsonBody(value)
        } catch (error) {
          expect(error).toBeInstanceOf(TypeError)
          return
        }
        expect(JSON.stringify(body)).toBe(JSON.stringify(value))
      },
    ),
    { numRuns: 2000 },
  )
})
