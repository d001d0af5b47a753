import fc from 'fast-check'

/**
 * Any code point but surrogates, one at a time. `unit: 'binary'` of the library means the same, but it first spends seconds on
 * a table. A service in the same process would lose its connections meanwhile.
 */
export const anyCodePoint = fc
  .nat({ max: 0x10ffff - 0x800 })
  .map((at) => String.fromCodePoint(at < 0xd800 ? at : at + 0x800))
