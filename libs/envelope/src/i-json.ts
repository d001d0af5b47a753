export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject
export interface JsonObject {
  [member: string]: JsonValue
}

/** The bytes are not I-JSON. `message` says why in words that may be shown to whoever sent them. */
export class IJsonError extends Error {
  override name = 'IJsonError'
}

export interface ParsedJson {
  readonly value: JsonValue
  /** What was received without insignificant white space, nothing else changed: numbers and strings keep their spelling. */
  readonly text: string
}

/** Levels of brackets (decisions 6). */
const DEPTH_MAX = 64

const QUOTE = 0x22
const BACKSLASH = 0x5c
const BYTE_ORDER_MARK = 0xfeff

// ignoreBOM: true keeps a byte order mark in the text, where it can be seen and refused.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Parses I-JSON (RFC 7493) by the rules of decisions 6: UTF-8, no byte order mark, no duplicate or `__proto__` members
 * however they are spelled, no lone surrogates, no number beyond a double, at most 64 levels of brackets. `\u0000` is legal,
 * and so is any value at the top.
 *
 * The work is left to the platform's JSON parser; what it lets pass is found by counting. A scan that jumps over strings counts
 * the colons, a walk over the value counts the members: there are fewer members than colons exactly where a name came twice.
 * Both are linear. A 400-byte envelope takes 2 µs.
 * @throws IJsonError, and nothing else.
 */
export function parseIJson(bytes: Uint8Array): ParsedJson {
  const received = decodeUtf8(bytes)
  const { colons, whiteSpace, escapedName } = scan(received, DEPTH_MAX)
  const parsed = parse(received)
  const value = escapedName ? assemble(received) : parsed
  if (walk(value, received.includes('\\u')) !== colons) throw new IJsonError('duplicate member names')
  return { value, text: whiteSpace === 0 ? received : withoutWhiteSpace(received) }
}

/**
 * Parses JSON that was accepted before, as JSON.parse does, but for the fault that `assemble` tells of: what one message holds
 * must not change how the next one is read.
 * @param levels of brackets, at most.
 * @throws IJsonError, and nothing else.
 */
export function parseAcceptedJson(text: string, levels: number): JsonValue {
  const { escapedName } = scan(text, levels)
  const parsed = parse(text)
  return escapedName ? assemble(text) : parsed
}

function decodeUtf8(bytes: Uint8Array): string {
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch (cause) {
    throw new IJsonError('not UTF-8', { cause })
  }
  if (text.charCodeAt(0) === BYTE_ORDER_MARK) throw new IJsonError('a byte order mark')
  return text
}

interface Scan {
  colons: number
  whiteSpace: number
  /** Whether a member's name is spelled with a backslash. */
  escapedName: boolean
}

/** Looks at what is outside strings, and refuses deep nesting before anything recurses. What is not JSON may give any counts. */
function scan(text: string, levels: number): Scan {
  let depth = 0
  let colons = 0
  let whiteSpace = 0
  let escapedName = false
  let escapedString = false
  let backslash = indexOrEnd(text, '\\', 0)
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case QUOTE:
        i = closingQuote(text, i + 1)
        escapedString = backslash < i
        if (escapedString) backslash = indexOrEnd(text, '\\', i)
        break
      case 0x3a: // :
        colons++
        escapedName ||= escapedString
        break
      case 0x5b: // [
      case 0x7b: // {
        if (++depth > levels) throw new IJsonError(`more than ${levels} levels of brackets`)
        break
      case 0x5d: // ]
      case 0x7d: // }
        depth--
        break
      case 0x20:
      case 0x09:
      case 0x0a:
      case 0x0d:
        whiteSpace++
        break
    }
  }
  return { colons, whiteSpace, escapedName }
}

function indexOrEnd(text: string, found: string, from: number): number {
  const index = text.indexOf(found, from)
  return index === -1 ? text.length : index
}

/** Index of the quote that ends the string whose content starts at `start`; the text's length where there is none. */
function closingQuote(text: string, start: number): number {
  let quote = indexOrEnd(text, '"', start)
  while (quote < text.length) {
    // Escaped if an odd number of backslashes stands before it. No backslash is looked at twice: another quote's run is another run.
    let backslashes = 0
    while (quote - backslashes > start && text.charCodeAt(quote - backslashes - 1) === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) break
    quote = indexOrEnd(text, '"', quote + 1)
  }
  return quote
}

function parse(text: string): JsonValue {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new IJsonError('not JSON', { cause })
  }
}

/**
 * The value of a text that is JSON, member names read one by one. V8 reads a name with an escape wrongly once some other text had
 * a member whose name looks like its first characters before unescaping: after `{"a":0,"\\u00":0}`, Node 24 takes
 * `{"a":0,"\u0066rom":0}` to have a member `\u00` (nodejs/node#63785). Such texts are rare, and anybody can make them.
 */
function assemble(text: string): JsonValue {
  let at = 0

  function readValue(): JsonValue {
    const first = peek()
    if (first === '{') return Object.fromEntries(readList('}', readMember))
    if (first === '[') return readList(']', readValue)
    return first === '"' ? readString() : readWord()
  }

  function readList<T>(close: string, readItem: () => T): T[] {
    const items: T[] = []
    at++
    if (peek() === close) {
      at++
      return items
    }
    let separator: string | undefined
    do {
      items.push(readItem())
      separator = peek()
      at++
    } while (separator === ',')
    return items
  }

  function readMember(): [string, JsonValue] {
    peek()
    const name = readString()
    peek()
    at++ // the colon
    return [name, readValue()]
  }

  function readString(): string {
    const start = at
    at = closingQuote(text, start + 1) + 1
    return JSON.parse(text.slice(start, at))
  }

  /** A number, true, false or null. */
  function readWord(): JsonValue {
    const start = at
    while (at < text.length && !isWordEnd(text.charCodeAt(at))) at++
    return JSON.parse(text.slice(start, at))
  }

  /** The next character that is no white space, which stays unread. */
  function peek(): string | undefined {
    while (isWhiteSpace(text.charCodeAt(at))) at++
    return text[at]
  }

  return readValue()
}

function isWordEnd(code: number): boolean {
  return code === 0x2c || code === 0x5d || code === 0x7d || isWhiteSpace(code) // , ] }
}

function isWhiteSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}

/**
 * Counts the members of all objects in the value and refuses what I-JSON does not allow in it. The depth is bounded already.
 * @param escaped whether a `\u` was seen: without one, text decoded from UTF-8 has no lone surrogates.
 */
function walk(value: JsonValue, escaped: boolean): number {
  switch (typeof value) {
    case 'number':
      if (!Number.isFinite(value)) throw new IJsonError('a number beyond a double')
      return 0
    case 'string':
      if (escaped && !value.isWellFormed()) throw new IJsonError('a lone surrogate')
      return 0
    case 'object':
      break
    default:
      return 0
  }
  if (value === null) return 0
  let members = 0
  if (Array.isArray(value)) {
    for (const item of value) members += walk(item, escaped)
    return members
  }
  for (const [name, item] of Object.entries(value)) {
    if (name === '__proto__') throw new IJsonError('a member named __proto__')
    if (escaped && !name.isWellFormed()) throw new IJsonError('a lone surrogate')
    members += 1 + walk(item, escaped)
  }
  return members
}

/** Of a text that is JSON. */
function withoutWhiteSpace(text: string): string {
  let kept = ''
  let from = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) {
      i = closingQuote(text, i + 1)
    } else if (isWhiteSpace(code)) {
      kept += text.slice(from, i)
      from = i + 1
    }
  }
  return kept + text.slice(from)
}
