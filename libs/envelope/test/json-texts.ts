import { anyCodePoint } from '@svc/test/support/any-text.ts'
import fc from 'fast-check'

/** JSON values with every kind of string, but without members named `__proto__`, which I-JSON refuses (spec 2.5). */
export const jsonValues = fc
  .jsonValue({ stringUnit: anyCodePoint, maxDepth: 4 })
  .filter((value) => !JSON.stringify(value).includes('"__proto__":'))

const SPACE = fc.string({ unit: fc.constantFrom(' ', '\n', '\t', '\r'), maxLength: 2 })
const NUMBERS = [
  '0',
  '-0',
  '1',
  '-1.50',
  '1e2',
  '1E+2',
  '1e-400',
  '123456789012345678901',
  '9007199254740993',
  '1e308',
  '1e309',
  '-1e400',
]
const NO_NUMBERS = ['01', '+1', '.5', '1.', '1e', 'NaN', 'Infinity', '-', '0x1', 'tru', 'nul', "'a'", '']
const LITERALS = ['true', 'false', 'null']

/** One UTF-16 unit in a string, in any form that a writer may use. */
const units = fc.oneof(
  fc
    .tuple(
      fc.constantFrom(...'ab_{}[]:,"\\/\n\0\u007fé€\uffff', '\ud83d', '\ude00', '\ufeff'),
      fc.constantFrom('raw', 'short', 'lower', 'upper'),
    )
    .map(([unit, spelling]) => {
      const hex = unit.charCodeAt(0).toString(16).padStart(4, '0')
      if (spelling === 'lower') return `\\u${hex}`
      if (spelling === 'upper') return `\\u${hex.toUpperCase()}`
      // JSON.stringify escapes everything that must be escaped, including halves of surrogate pairs
      return spelling === 'short' && unit === '/' ? '\\/' : JSON.stringify(unit).slice(1, -1)
    }),
  fc.constantFrom('😀', '\\ud83d\\ude00', '\\uD83D\\uDE00', '\\\\u0041', '\\\\', '\\"'),
)
const strings = fc.array(units, { maxLength: 6 }).map((spelled) => `"${spelled.join('')}"`)
/** A few names, each in several spellings, so that duplicates and `__proto__` are frequent. */
const names = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom('"__proto__"', '"\\u005f_proto__"', '"__proto\\u005F_"', '"__proto"') },
  {
    weight: 6,
    arbitrary: fc.constantFrom('"a"', '"\\u0061"', '"b"', '"c"', '"d"', '"e"', '"1"', '"10"', '""', '"\\/"', '"/"'),
  },
  { weight: 3, arbitrary: strings },
)

const { text } = fc.letrec<{ text: string; value: string; array: string; object: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom(...LITERALS),
    fc.constantFrom(...NUMBERS),
    { weight: 3, arbitrary: strings },
    { weight: 3, arbitrary: tie('array') },
    { weight: 4, arbitrary: tie('object') },
  ),
  array: fc
    .array(fc.tuple(SPACE, tie('value'), SPACE), { maxLength: 4 })
    .map((items) => `[${items.map((parts) => parts.join('')).join(',')}]`),
  object: fc
    .tuple(SPACE, fc.array(fc.tuple(names, SPACE, SPACE, tie('value'), SPACE), { maxLength: 5 }))
    .map(
      ([space, members]) =>
        `{${space}${members.map(([name, a, b, value, c]) => `${name}${a}:${b}${value}${c}`).join(',')}}`,
    ),
  text: fc.tuple(SPACE, tie('value'), SPACE).map((parts) => parts.join('')),
}))

/** JSON texts, most of them valid, with unusual escapes, white space, duplicate names and lone surrogates. */
export const jsonTexts = text

/** The same texts with some bytes replaced. */
export const brokenTexts: fc.Arbitrary<Uint8Array> = fc
  .tuple(
    text,
    fc.nat(),
    fc.nat(3),
    fc.oneof(
      fc
        .constantFrom(...NO_NUMBERS, ...NUMBERS, ...'{}[]:,"\\ \u00a0\v\ufeff', '\\u', '\\ud800', ',,', '""', '{}')
        .map((s) => Buffer.from(s)),
      fc.uint8Array({ maxLength: 3 }).map((bytes) => Buffer.from(bytes)),
    ),
  )
  .map(([whole, at, length, insert]) => {
    const bytes = Buffer.from(whole)
    const from = at % (bytes.length + 1)
    return Uint8Array.from(Buffer.concat([bytes.subarray(0, from), insert, bytes.subarray(from + length)]))
  })
