import type { JsonSchemaType } from '@modelcontextprotocol/server'
import { parseBody } from '@svc/sdk/messages/body.ts'

/**
 * The arguments of a call in the types of the schema. Models and clients often send `null`, `""` or `"null"` for an argument
 * that they leave out, and text for a number, a boolean, a list or an object. Whatever is not clear stays as it is, and the
 * schema refuses it.
 */
export function readArguments(schema: JsonSchemaType, value: unknown): unknown {
  switch (schema.type) {
    case 'object':
      return readObject(schema, jsonOr(value, isObject))
    case 'array': {
      const list = jsonOr(value, Array.isArray)
      // A single value stands for a list of one.
      const items: unknown[] = Array.isArray(list) ? list : [list]
      return items
        .filter((item) => !isAbsent(item))
        .map((item) => readArguments((schema.items ?? {}) as JsonSchemaType, item))
    }
    case 'integer':
    case 'number':
      return jsonOr(value, (parsed) => typeof parsed === 'number')
    case 'boolean':
      return jsonOr(typeof value === 'string' ? value.toLowerCase() : value, (parsed) => typeof parsed === 'boolean')
    default:
      return value
  }
}

/** The arguments of a call as a whole. @returns undefined if there are none. */
export function readCall(value: unknown): unknown {
  return isAbsent(value) ? undefined : jsonOr(value, isObject)
}

function readObject({ properties = {}, required = [] }: JsonSchemaType, value: unknown): unknown {
  if (!isObject(value)) return value
  const given = Object.entries(value).filter(([name, member]) => required.includes(name) || !isAbsent(member))
  return Object.fromEntries(
    given.map(([name, member]) => {
      const schema = Object.hasOwn(properties, name) ? (properties[name] as JsonSchemaType) : {}
      return [name, readArguments(schema, member)]
    }),
  )
}

function isAbsent(value: unknown): boolean {
  return value === null || value === undefined || (typeof value === 'string' && ['', 'null'].includes(value.trim()))
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value of JSON text, if it has the expected type, and no number or member would change. Otherwise the text itself. */
function jsonOr(value: unknown, isExpected: (parsed: unknown) => boolean): unknown {
  if (typeof value !== 'string') return value
  try {
    const parsed: unknown = parseBody(value)
    return isExpected(parsed) ? parsed : value
  } catch {
    return value
  }
}
