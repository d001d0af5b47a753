import type { JsonValue } from '../src/json-value.ts'

/**
 * The reference for `parseIJson`. Parses I-JSON in the slow, obvious way: byte by byte and character by character, directly
 * from RFC 3629, RFC 8259 and spec 2.5.
 * @returns the value and its text by JSON.stringify, or the reason why it is refused.
 */
export function referenceIJson(bytes: Uint8Array): { value: JsonValue; text: string } | { refused: string } {
  try {
    const parser = new Parser(decode(bytes))
    const value = parser.whole()
    return { value, text: JSON.stringify(value) }
  } catch (error) {
    if (error instanceof Refused) return { refused: error.message }
    throw error
  }
}

class Refused extends Error {}

function refuse(why: string): never {
  throw new Refused(why)
}

/** RFC 3629: tries the ranges of section 4 one after another. */
function decode(bytes: Uint8Array): string {
  let text = ''
  let at = 0
  const next = (min: number, max: number): number => {
    const byte = bytes[at++]
    return byte !== undefined && byte >= min && byte <= max ? byte : refuse('UTF-8')
  }
  while (at < bytes.length) {
    const lead = next(0, 0xff)
    const tail = () => next(0x80, 0xbf) & 0x3f
    if (lead <= 0x7f) {
      text += String.fromCodePoint(lead)
    } else if (lead >= 0xc2 && lead <= 0xdf) {
      text += String.fromCodePoint(((lead & 0x1f) << 6) | tail())
    } else if (lead >= 0xe0 && lead <= 0xef) {
      const second = next(lead === 0xe0 ? 0xa0 : 0x80, lead === 0xed ? 0x9f : 0xbf) & 0x3f
      text += String.fromCodePoint(((lead & 0x0f) << 12) | (second << 6) | tail())
    } else if (lead >= 0xf0 && lead <= 0xf4) {
      const second = next(lead === 0xf0 ? 0x90 : 0x80, lead === 0xf4 ? 0x8f : 0xbf) & 0x3f
      const third = tail()
      text += String.fromCodePoint(((lead & 0x07) << 18) | (second << 12) | (third << 6) | tail())
    } else {
      refuse('UTF-8')
    }
  }
  return text
}

class Parser {
  readonly #text: string
  #at = 0
  constructor(text: string) {
    this.#text = text
  }

  whole(): JsonValue {
    this.#space()
    const value = this.#value(0)
    this.#space()
    if (this.#at !== this.#text.length) refuse('something follows')
    return value
  }

  #value(depth: number): JsonValue {
    const first = this.#text[this.#at]
    if (first === '{') return this.#object(depth + 1)
    if (first === '[') return this.#array(depth + 1)
    if (first === '"') return this.#string()
    for (const [word, value] of [
      ['true', true],
      ['false', false],
      ['null', null],
    ] as const) {
      if (this.#text.startsWith(word, this.#at)) {
        this.#skip(word.length)
        return value
      }
    }
    return this.#number()
  }

  #object(depth: number): JsonValue {
    if (depth > 64) refuse('depth')
    const members = new Map<string, JsonValue>()
    this.#skip(1)
    this.#space()
    if (this.#take('}')) return {}
    do {
      this.#space()
      const name = this.#string()
      if (members.has(name)) refuse('duplicate')
      if (name === '__proto__') refuse('__proto__')
      this.#space()
      if (!this.#take(':')) refuse('no colon')
      this.#space()
      members.set(name, this.#value(depth))
      this.#space()
    } while (this.#take(','))
    if (!this.#take('}')) refuse('no end')
    return Object.fromEntries(members)
  }

  #array(depth: number): JsonValue {
    if (depth > 64) refuse('depth')
    const items: JsonValue[] = []
    this.#skip(1)
    this.#space()
    if (this.#take(']')) return items
    do {
      this.#space()
      items.push(this.#value(depth))
      this.#space()
    } while (this.#take(','))
    if (!this.#take(']')) refuse('no end')
    return items
  }

  #string(): string {
    if (!this.#take('"')) refuse('no string')
    const units: number[] = []
    while (!this.#take('"')) {
      const unit = this.#text.charCodeAt(this.#at)
      if (Number.isNaN(unit) || unit < 0x20) refuse('in a string')
      this.#skip(1)
      units.push(unit === 0x5c ? this.#escape() : unit)
    }
    units.forEach((unit, i) => {
      const high = unit >= 0xd800 && unit <= 0xdbff
      const low = unit >= 0xdc00 && unit <= 0xdfff
      const [before = 0, after = 0] = [units[i - 1], units[i + 1]]
      if (high && !(after >= 0xdc00 && after <= 0xdfff)) refuse('surrogate')
      if (low && !(before >= 0xd800 && before <= 0xdbff)) refuse('surrogate')
    })
    return units.map((unit) => String.fromCharCode(unit)).join('')
  }

  #escape(): number {
    const letter = this.#text[this.#at] ?? refuse('escape')
    const simple = new Map([...'"\\/'].map((c) => [c, c]))
      .set('b', '\b')
      .set('f', '\f')
      .set('n', '\n')
      .set('r', '\r')
      .set('t', '\t')
    const meant = simple.get(letter)
    this.#skip(1)
    if (meant !== undefined) return meant.charCodeAt(0)
    const digits = this.#text.slice(this.#at, this.#at + 4)
    if (letter !== 'u' || !/^[0-9a-fA-F]{4}$/.test(digits)) refuse('escape')
    this.#skip(4)
    return Number.parseInt(digits, 16)
  }

  #number(): number {
    const [token] =
      /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/.exec(this.#text.slice(this.#at)) ?? refuse('value')
    this.#skip(token.length)
    const value = Number(token)
    return Number.isFinite(value) ? value : refuse('beyond a double')
  }

  #space(): void {
    while (/^[ \t\n\r]$/.test(this.#text[this.#at] ?? '')) this.#at++
  }

  #take(character: string): boolean {
    if (this.#text[this.#at] !== character) return false
    this.#skip(1)
    return true
  }

  #skip(length: number): void {
    this.#at += length
  }
}
