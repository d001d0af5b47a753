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
  return new JsonReader(text, outlineOf).readAll()
}

class JsonReader {
  readonly #text: string
  readonly #outlineOf: ReadonlySet<string> | undefined
  readonly #isFull: boolean
  /**
   * For each level, a map from a name to the last object that had it. One map per level is enough, because only one object
   * of a level is open at a time.
   */
  readonly #owners: Map<string, number>[] = []
  #objects = 0
  #hasOther = false
  #at = 0

  constructor(text: string, outlineOf: ReadonlySet<string> | undefined) {
    this.#text = text
    this.#outlineOf = outlineOf
    this.#isFull = outlineOf === undefined
  }

  readAll(): JsonValue {
    const value = this.#readValue(0)
    this.#skipSpace()
    if (this.#at < this.#text.length) throw notJson()
    return value
  }

  #readValue(level: number): JsonValue {
    this.#skipSpace()
    switch (this.#text.charCodeAt(this.#at)) {
      case OPEN_BRACE:
        return this.#readObject(level)
      case OPEN_BRACKET:
        return this.#readArray(level)
      case QUOTE:
        return this.#readString()
      case 0x74: // t
      case 0x66: // f
      case 0x6e: // n
        return this.#readLiteral()
      default:
        return this.#readNumber(level)
    }
  }

  #readObject(level: number): JsonObject {
    const object: JsonObject = {}
    this.#owners[level] ??= new Map()
    const owner = this.#owners[level]
    const self = ++this.#objects
    this.#at++
    if (this.#take(CLOSE_BRACE)) return object
    do {
      this.#skipSpace()
      if (this.#text.charCodeAt(this.#at) !== QUOTE) throw notJson()
      const name = this.#readString()
      if (name === '__proto__') throw new IJsonError('a member named __proto__')
      if (owner.get(name) === self) throw new IJsonError('duplicate member names')
      owner.set(name, self)
      this.#expect(COLON)
      const member = this.#readValue(level + 1)
      if (this.#isFull || (level === 0 && this.#isOutlined(name))) object[name] = member
    } while (this.#take(COMMA))
    this.#expect(CLOSE_BRACE)
    return object
  }

  #isOutlined(name: string): boolean {
    if (this.#outlineOf?.has(name)) return true
    const isFirst = !this.#hasOther
    this.#hasOther = true
    return isFirst
  }

  #readArray(level: number): JsonValue[] {
    const array: JsonValue[] = []
    this.#at++
    if (this.#take(CLOSE_BRACKET)) return array
    do {
      const item = this.#readValue(level + 1)
      if (this.#isFull) array.push(item)
    } while (this.#take(COMMA))
    this.#expect(CLOSE_BRACKET)
    return array
  }

  #readString(): string {
    const start = this.#at
    let isEscaped = false
    for (this.#at++; this.#text.charCodeAt(this.#at) !== QUOTE; this.#at++) {
      const unit = this.#text.charCodeAt(this.#at)
      if (unit === BACKSLASH) {
        isEscaped = true
        this.#at++
      } else if (!(unit >= 0x20)) {
        throw notJson() // a control character, or NaN at the end of the text
      }
    }
    this.#at++
    if (!isEscaped) return this.#text.slice(start + 1, this.#at - 1)
    const string = parseJson(this.#text.slice(start, this.#at)) as string
    if (!string.isWellFormed()) throw new IJsonError('a lone surrogate')
    return string
  }

  #readNumber(level: number): number {
    const start = this.#at
    this.#skip('-')
    if (!this.#skip('0')) this.#skipDigits()
    if (this.#skip('.')) this.#skipDigits()
    const isExponent = this.#skip('e') || this.#skip('E')
    if (isExponent) {
      if (!this.#skip('-')) this.#skip('+')
      this.#skipDigits()
    }
    if (!this.#isFull && level > 1 && !isExponent && this.#at - start < LONG_NUMBER) return 0 // the outline does not contain it
    const number = Number(this.#text.slice(start, this.#at))
    if (!Number.isFinite(number)) throw new IJsonError('a number beyond a double')
    return number
  }

  #skipDigits(): void {
    const start = this.#at
    while (isDigit(this.#text.charCodeAt(this.#at))) this.#at++
    if (this.#at === start) throw notJson()
  }

  #skip(character: string): boolean {
    const isThere = this.#text[this.#at] === character
    if (isThere) this.#at++
    return isThere
  }

  #readLiteral(): JsonValue {
    for (const [word, literal] of LITERALS) {
      if (this.#text.startsWith(word, this.#at)) {
        this.#at += word.length
        return literal
      }
    }
    throw notJson()
  }

  #take(code: number): boolean {
    this.#skipSpace()
    const isThere = this.#text.charCodeAt(this.#at) === code
    if (isThere) this.#at++
    return isThere
  }

  #expect(code: number): void {
    if (!this.#take(code)) throw notJson()
  }

  #skipSpace(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at)
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return
      this.#at++
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
