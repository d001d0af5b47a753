import fc from 'fast-check'
import { jsonValues } from '../../libs/envelope/test/json-texts.ts'
import { anyCodePoint } from '../support/any-text.ts'
import type { ApiDescription, Json } from '../support/description/api-description.ts'

/** Values that fit a schema of the description. An unknown keyword is an error. */
export function valuesOf(api: ApiDescription, schema: Json): fc.Arbitrary<unknown> {
  const resolved = api.resolve(schema)
  const { type, anyOf, enum: values, const: constant, default: _, description: __, ...rules } = resolved
  if (Array.isArray(anyOf)) return fc.oneof(...anyOf.map((one: Json) => valuesOf(api, one)))
  if (Array.isArray(values)) return fc.constantFrom(...(values as unknown[]))
  if (constant !== undefined) return fc.constant(constant)
  switch (type) {
    case undefined:
      return jsonValues
    case 'boolean':
      return fc.boolean()
    case 'integer': {
      const { minimum = -(2 ** 53) + 1, maximum = 2 ** 53 - 1 } = rules as { minimum?: number; maximum?: number }
      return fc.maxSafeInteger().map((value) => minimum + (Math.abs(value) % (maximum - minimum + 1)))
    }
    case 'string':
      return stringsOf(rules)
    case 'object': {
      const { properties = {}, required = [] } = rules as { properties?: Record<string, Json>; required?: string[] }
      const members = Object.entries(properties).map(([name, member]) => [name, valuesOf(api, member)] as const)
      return fc.record(Object.fromEntries(members), { requiredKeys: required })
    }
    default:
      throw new Error(`no values of type ${String(type)}`)
  }
}

function stringsOf(rules: Json): fc.Arbitrary<string> {
  const {
    pattern,
    format,
    minLength = 0,
    maxLength = 100,
  } = rules as {
    pattern?: string
    format?: string
    minLength?: number
    maxLength?: number
  }
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern))
  if (format === 'date-time')
    return fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) }).map((date) => date.toISOString())
  // The units are code points, because lengths are counted in them (spec 2.11).
  return fc.string({ unit: anyCodePoint, minLength, maxLength })
}
