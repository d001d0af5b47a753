import { Kind, type TUnsafe, Type, TypeRegistry } from '@sinclair/typebox'

interface Length {
  readonly minLength?: number
  readonly maxLength: number
}

const KIND = 'Text'

TypeRegistry.Set<Length>(KIND, ({ minLength = 0, maxLength }, value) => {
  if (typeof value !== 'string') return false
  // A code point has one or two UTF-16 units, so a text that is far too short or too long need not be counted.
  if (value.length < minLength || value.length > 2 * maxLength) return false
  const characters = codePoints(value)
  return characters >= minLength && characters <= maxLength
})

/**
 * A string whose length is counted in code points (spec 2.11), as in JSON Schema. TypeBox's own strings count UTF-16
 * units.
 */
export function textOf(length: Length & { readonly description?: string }): TUnsafe<string> {
  return Type.Unsafe<string>({ [Kind]: KIND, type: 'string', ...length })
}

function codePoints(text: string): number {
  let count = 0
  for (const _ of text) count += 1
  return count
}
