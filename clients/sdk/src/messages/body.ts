import { parseIJson } from '@svc/envelope/i-json.ts'
import type { JsonObject, JsonValue } from '@svc/envelope/json-value.ts'

/** An envelope may have 64 levels (spec 2.5), and is one itself. */
export const ENVELOPE_LEVELS = 64
const BODY_LEVELS = ENVELOPE_LEVELS - 1
/** JSON writes larger numbers with an exponent, which no reader takes for an exact integer. */
const EXPONENT_FROM = 1e21
/** Characters of a path that is named. That of a cycle would have as many members as there may be levels. */
const MAX_PATH = 80
/** A number keeps this many decimal digits. */
const EXACT_DIGITS = 15
const INTEGER = /^-?\d+$/
const TOO_MANY_DIGITS = `is a number of more than ${EXACT_DIGITS} digits, whose last ones would change: send it as text`
const TOO_MANY_BITS = 'is an integer of more than 53 bits, whose last digits may be wrong: send it as text'
const NOT_JSON = ': JSON cannot carry it'
const PLAIN_NAME = /^[A-Za-z_$][\w$]*$/

const encoder = new TextEncoder()

/**
 * The body as the recipient will read it: what `JSON.stringify` makes of it, so that a Date, for example, is text.
 * `JSON.stringify` silently changes or drops what JSON cannot carry, such as NaN and undefined. All of that is refused.
 * @throws TypeError with the path of the wrong member, e.g. `body.items[2].price`.
 */
export function jsonBody(body: unknown, levels = BODY_LEVELS): JsonValue {
  const value = copy(body, '', 'body', levels)
  try {
    return parseIJson(encoder.encode(JSON.stringify(value))).value
  } catch (cause) {
    throw new TypeError(`the body is not I-JSON: ${(cause as Error).message}`, { cause })
  }
}

/**
 * The body in a JSON text. Unlike `JSON.parse`, this refuses duplicate members, and integers whose last digits would change.
 * @throws TypeError that says what is wrong with the text, e.g. `body.id is an integer of more than 53 bits`.
 */
export function parseBody(text: string, levels = BODY_LEVELS): JsonValue {
  let value: unknown
  try {
    value = JSON.parse(text, asWritten)
  } catch (cause) {
    throw new TypeError('the body is not I-JSON: not JSON', { cause })
  }
  const body = jsonBody(value, levels)
  try {
    // Finds what `JSON.parse` does not, such as duplicate members.
    parseIJson(encoder.encode(text))
  } catch (cause) {
    throw new TypeError(`the body is not I-JSON: ${(cause as Error).message}`, { cause })
  }
  return body
}

/** A number whose digits would change becomes one that `jsonBody` refuses. An old browser gives no source. */
function asWritten(_key: string, value: unknown, context?: { source?: string }): unknown {
  const source = typeof value === 'number' ? context?.source : undefined
  if (source === undefined || Number.isSafeInteger(value) || !Number.isInteger(value)) return value
  if (INTEGER.test(source)) return BigInt(source)
  const digits = source
    .replace(/e.*$/i, '')
    .replace(/\D/g, '')
    .replace(/^0+|0+$/g, '')
  return digits.length > EXACT_DIGITS ? new Inexact() : value
}

/** A number in a text with an exponent or a fraction, of more digits than a number keeps. */
class Inexact {}

/** @param key the member's name, which `toJSON` gets. */
function copy(given: unknown, key: string, path: string, levels: number): JsonValue {
  const value = converted(given, key, path)
  switch (typeof value) {
    case 'string':
      return value.isWellFormed() ? value : refuse(path, 'has a lone surrogate, so it is no Unicode text')
    case 'number':
      return finite(value, path)
    case 'boolean':
      return value
    case 'object':
      if (value === null) return null
      if (value instanceof Inexact) return refuse(path, TOO_MANY_DIGITS)
      if (levels === 0)
        return refuse(
          `${path.slice(0, MAX_PATH)}…`,
          `is nested too deep for an envelope of ${ENVELOPE_LEVELS} levels, or contains itself`,
        )
      return Array.isArray(value) ? copyArray(value, path, levels - 1) : copyObject(value, path, levels - 1)
    case 'bigint':
      return refuse(path, Number.isSafeInteger(Number(value)) ? `is a bigint${NOT_JSON}` : TOO_MANY_BITS)
    default:
      return refuse(path, `${value === undefined ? 'is undefined' : `is a ${typeof value}`}${NOT_JSON}`)
  }
}

/** The result of `toJSON`, if the value has one. */
function converted(value: unknown, key: string, path: string): unknown {
  if (typeof value !== 'object' || value === null || !('toJSON' in value) || typeof value.toJSON !== 'function')
    return value
  // A Buffer of Node has a toJSON, which makes an object of it.
  if (ArrayBuffer.isView(value)) return value
  if (value instanceof Date && Number.isNaN(value.getTime())) return refuse(path, 'is an invalid date')
  const json: unknown = value.toJSON(key)
  return json === undefined ? refuse(path, `has a toJSON that gives undefined${NOT_JSON}`) : json
}

function finite(value: number, path: string): number {
  if (!Number.isFinite(value)) return refuse(path, `is ${value}${NOT_JSON}`)
  if (Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value) < EXPONENT_FROM)
    return refuse(path, TOO_MANY_BITS)
  return value
}

function copyArray(values: readonly unknown[], path: string, levels: number): JsonValue[] {
  return Array.from(values, (value, index) => {
    const at = `${path}[${index}]`
    return index in values ? copy(value, String(index), at, levels) : refuse(at, 'is missing from a sparse array')
  })
}

function copyObject(value: object, path: string, levels: number): JsonObject {
  const kind = Object.prototype.toString.call(value).slice('[object '.length, -1)
  if (ArrayBuffer.isView(value) || kind !== 'Object')
    return refuse(path, `is ${/^[AEIO]/.test(kind) ? 'an' : 'a'} ${kind}${NOT_JSON}`)
  const copied: JsonObject = {}
  for (const [name, member] of Object.entries(value)) {
    const at = PLAIN_NAME.test(name) ? `${path}.${name}` : `${path}[${JSON.stringify(name)}]`
    if (!name.isWellFormed()) return refuse(at, 'has a lone surrogate in its name, which is no Unicode text')
    if (name === '__proto__') return refuse(at, 'is not allowed as a name')
    copied[name] = copy(member, name, at, levels)
  }
  return copied
}

function refuse(path: string, problem: string): never {
  throw new TypeError(`${path} ${problem}`)
}
