import fc from 'fast-check'

/** Damages bytes as a network might: cuts, duplicates, overwrites, inserts. */
export function brokenBytes(inputs: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Uint8Array> {
  const injuries = fc.array(
    fc.record({
      kind: fc.constantFrom('cut', 'double', 'overwrite', 'insert', 'drop'),
      at: fc.nat(10_000),
      bytes: fc.oneof(
        fc.uint8Array({ minLength: 1, maxLength: 3 }),
        fc.constantFrom(...TROUBLE).map((text) => Buffer.from(text, 'latin1')),
      ),
    }),
    { minLength: 1, maxLength: 3 },
  )
  return fc.tuple(inputs, injuries).map(([input, wounds]) =>
    wounds.reduce<Uint8Array>((bytes, { kind, at, bytes: other }) => {
      const index = at % (bytes.length + 1)
      const [before, after] = [bytes.subarray(0, index), bytes.subarray(index)]
      if (kind === 'cut') return Buffer.from(before)
      if (kind === 'double') return Buffer.concat([before, after, after])
      if (kind === 'drop') return Buffer.concat([before, after.subarray(1)])
      if (kind === 'insert') return Buffer.concat([before, other, after])
      return Buffer.concat([before, other, after.subarray(other.length)])
    }, input),
  )
}

/** Bytes that parsers often mishandle: JSON, UTF-8, headers. */
const TROUBLE = [
  '\0',
  '"',
  '\\',
  '\\u0000',
  '\\ud800',
  '"__proto__":1,',
  '"a":1,"a":2,',
  '\xef\xbb\xbf',
  '\xed\xa0\x80',
  '\xc0\x80',
  '\xf4\x90\x80\x80',
  '1e400',
  '-0',
  '['.repeat(70),
  '{"a":'.repeat(70),
  '\r\n',
  ' ',
  ':',
  '=',
  '%00',
  '%ff',
]
