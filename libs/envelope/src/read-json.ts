import { IJsonError, type JsonObject, type JsonValue } from './json-value.ts'

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
const BACKSLASH = 0x5c
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

const LITERALS: readonly (readonly [string, JsonValue])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
]
/** A number with fewer characters than this and without an exponent always fits into a double. */
const LONG_NUMBER = 309

/**
 * Reads I-JSON token by token, without JSON.parse. That is slower for a usual message, but faster for many small members.
 * The caller must have limited the levels of brackets.
 * @param outlineOf if given, only the outline of an object is built: the members named here, and the first other member. All
 *   arrays and objects inside it stay empty. The text is still checked to its end.
 * @throws IJsonError.
 */
export function readJson(text: string, outlineOf?: ReadonlySet<string>): JsonValue {
  const isFull = outlineOf === undefined
  /**
   * For each level, a map from a name to the last object that had it. One map per level is enough, because only one object
   * of a level is open at a time.
   */
  const owners: Map<string, number>[] = []
  let objects = 0
  let hasOther = false
  let at = 0

  const value = readValue(0)
  skipSpace()
  if (at < text.length) throw notJson()
  return value

  function readValue(level: number): JsonValue {
    skipSpace()
    switch (text.charCodeAt(at)) {
      case OPEN_BRACE:
        return readObject(level)
      case OPEN_BRACKET:
        return readArray(level)
      case QUOTE:
        return readString()
      case 0x74: // t
      case 0x66: // f
      case 0x6e: // n
        return readLiteral()
      default:
        return readNumber(level)
    }
  }

  function readObject(level: number): JsonObject {
    const object: JsonObject = {}
    owners[level] ??= new Map()
    const owner = owners[level]
    const self = ++objects
    at++
    if (take(CLOSE_BRACE)) return object
    do {
      skipSpace()
      if (text.charCodeAt(at) !== QUOTE) throw notJson()
      const name = readString()
      if (name === '__proto__') throw new IJsonError('a member named __proto__')
      if (owner.get(name) === self) throw new IJsonError('duplicate member names')
      owner.set(name, self)
      expect(COLON)
      const member = readValue(level + 1)
      if (isFull || (level === 0 && isOutlined(name))) object[name] = member
    } while (take(COMMA))
    expect(CLOSE_BRACE)
    return object
  }

  function isOutlined(name: string): boolean {
    if (outlineOf?.has(name)) return true
    const isFirst = !hasOther
    hasOther = true
    return isFirst
  }

  function readArray(level: number): JsonValue[] {
    const array: JsonValue[] = []
    at++
    if (take(CLOSE_BRACKET)) return array
    do {
      const item = readValue(level + 1)
      if (isFull) array.push(item)
    } while (take(COMMA))
    expect(CLOSE_BRACKET)
    return array
  }

  function readString(): string {
    const start = at
    let isEscaped = false
    for (at++; text.charCodeAt(at) !== QUOTE; at++) {
      const unit = text.charCodeAt(at)
      if (unit === BACKSLASH) {
        isEscaped = true
        at++
      } else if (!(unit >= 0x20)) {
        throw notJson() // a control character, or NaN at the end of the text
      }
    }
    at++
    if (!isEscaped) return text.slice(start + 1, at - 1)
    const string = parseJson(text.slice(start, at)) as string
    if (!string.isWellFormed()) throw new IJsonError('a lone surrogate')
    return string
  }

  function readNumber(level: number): number {
    const start = at
    skip('-')
    if (!skip('0')) skipDigits()
    if (skip('.')) skipDigits()
    const isExponent = skip('e') || skip('E')
    if (isExponent) {
      if (!skip('-')) skip('+')
      skipDigits()
    }
    if (!isFull && level > 1 && !isExponent && at - start < LONG_NUMBER) return 0 // the outline does not contain it
    const number = Number(text.slice(start, at))
    if (!Number.isFinite(number)) throw new IJsonError('a number beyond a double')
    return number
  }

  function skipDigits(): void {
    const start = at
    while (isDigit(text.charCodeAt(at))) at++
    if (at === start) throw notJson()
  }

  function skip(character: string): boolean {
    const isThere = text[at] === character
    if (isThere) at++
    return isThere
  }

  function readLiteral(): JsonValue {
    for (const [word, literal] of LITERALS) {
      if (text.startsWith(word, at)) {
        at += word.length
        return literal
      }
    }
    throw notJson()
  }

  function take(code: number): boolean {
    skipSpace()
    const isThere = text.charCodeAt(at) === code
    if (isThere) at++
    return isThere
  }

  function expect(code: number): void {
    if (!take(code)) throw notJson()
  }

  function skipSpace(): void {
    for (;;) {
      const code = text.charCodeAt(at)
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return
      at++
    }
  }
}

/** JSON.parse, with our error. */
export function parseJson(text: string): JsonValue {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw notJson(cause)
  }
}

function notJson(cause?: unknown): IJsonError {
  return new IJsonError('not JSON', { cause })
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}
