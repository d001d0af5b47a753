import { IJsonError, type JsonValue } from './json-value.ts'
import { parseJson, readJson } from './read-json.ts'

export interface ParsedJson {
  readonly value: JsonValue
  /** What JSON.stringify writes of the value (spec 6.6). */
  readonly text: string
}

/** What is read of a value that is too large to be accepted: enough to say what is wrong with it. */
export interface JsonOutline {
  /** An object with the members that were asked for, and one other if there is one. Arrays and objects inside it are empty. */
  readonly value: JsonValue
  readonly text: null
}

export interface OutlineRule {
  /** No accepted value has more members, those of inner objects included. */
  readonly membersMax: number
  /** Names of the members that the caller looks at. */
  readonly names: ReadonlySet<string>
}

/** Levels of brackets (spec 2.5). */
const DEPTH_MAX = 64

const QUOTE = 0x22
const BACKSLASH = 0x5c
const BYTE_ORDER_MARK = 0xfeff
/** In text of JSON.stringify, which escapes a surrogate only if it is alone. A backslash that is escaped itself escapes nothing. */
const LONE_SURROGATE = /[^\\](?:\\\\)*\\ud[89a-f]/
/** In text of JSON.stringify. A quote behind a brace or a comma opens a string, or closes one that ends in it; then no letter follows. */
const PROTO_NAME = /[{,]"__proto__":/

// ignoreBOM: true keeps a byte order mark in the text, where it can be seen and refused.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Parses I-JSON (RFC 7493) by the rules of spec 2.5: UTF-8, no byte order mark, no duplicate or `__proto__` members
 * however they are spelled, no lone surrogates, no number beyond a double, at most 64 levels of brackets. `\u0000` is legal,
 * and so is any value at the top.
 *
 * The platform parses the text and writes the value again. The platform's parser lets some faults pass, but each fault shows
 * in what is written. Both steps are linear. A 400-byte envelope takes 2 µs.
 * @throws IJsonError, and nothing else.
 */
export function parseIJson(bytes: Uint8Array): ParsedJson {
  const received = decodeUtf8(bytes)
  return parse(received, scan(received, DEPTH_MAX))
}

/**
 * As `parseIJson`, but reads only the outline of a value with more members than any accepted value has. The text is checked
 * to its end all the same. Building many members takes longer than reading them.
 */
export function parseOrOutline(bytes: Uint8Array, { membersMax, names }: OutlineRule): ParsedJson | JsonOutline {
  const received = decodeUtf8(bytes)
  const counts = scan(received, DEPTH_MAX)
  return counts.colons > membersMax ? { value: readJson(received, names), text: null } : parse(received, counts)
}

/**
 * Parses JSON that was accepted before, as JSON.parse does, but for the fault that `readValue` tells of: what one message holds
 * must not change how the next one is read.
 * @param levels of brackets, at most.
 * @throws IJsonError, and nothing else.
 */
export function parseAcceptedJson(text: string, levels: number): JsonValue {
  return readValue(text, scan(text, levels))
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

/** What is outside strings. */
interface Scan {
  /** As many as members, those of one name counted separately. */
  colons: number
  nulls: number
  /** Whether a member's name is spelled with a backslash. */
  hasEscapedName: boolean
}

/** Looks at what is outside strings, and refuses deep nesting before anything recurses. What is not JSON may give any counts. */
function scan(text: string, levels: number): Scan {
  let depth = 0
  let colons = 0
  let nulls = 0
  let hasEscapedName = false
  let isEscaped = false
  let backslash = indexOrEnd(text, '\\', 0)
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case QUOTE:
        i = closingQuote(text, i + 1)
        isEscaped = backslash < i
        if (isEscaped) backslash = indexOrEnd(text, '\\', i)
        break
      case 0x3a: // :
        colons++
        hasEscapedName ||= isEscaped
        break
      case 0x5b: // [
      case 0x7b: // {
        if (++depth > levels) throw new IJsonError(`more than ${levels} levels of brackets`)
        break
      case 0x5d: // ]
      case 0x7d: // }
        depth--
        break
      case 0x6e: // n, which no other word or number has
        nulls++
        break
    }
  }
  return { colons, nulls, hasEscapedName }
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

function parse(received: string, counts: Scan): ParsedJson {
  const value = readValue(received, counts)
  const text = JSON.stringify(value)
  if (text !== received) compare(counts, scan(text, DEPTH_MAX))
  if (text.includes('\\ud') && LONE_SURROGATE.test(text)) throw new IJsonError('a lone surrogate')
  if (text.includes('__proto__') && PROTO_NAME.test(text)) throw new IJsonError('a member named __proto__')
  return { value, text }
}

/**
 * V8 reads a name with an escape wrongly once some other text had a member whose name looks like its first characters before
 * unescaping: after `{"a":0,"\\u00":0}`, Node 24 takes `{"a":0,"\u0066rom":0}` to have a member `\u00` (nodejs/node#63785).
 * Such texts are rare, and anybody can make them.
 */
function readValue(text: string, { hasEscapedName }: Scan): JsonValue {
  return hasEscapedName ? readJson(text) : parseJson(text)
}

/** JSON.parse keeps one of the members of one name. It takes a number beyond a double to be infinite, which is written as null. */
function compare(received: Scan, written: Scan): void {
  if (written.colons !== received.colons) throw new IJsonError('duplicate member names')
  if (written.nulls !== received.nulls) throw new IJsonError('a number beyond a double')
}
