import { IJsonError, type JsonValue } from './json-value.ts'
import { parseJson, readJson } from './read-json.ts'

export interface ParsedJson {
  readonly value: JsonValue
  /** The value as JSON.stringify writes it (spec 6.6). */
  readonly text: string
}

/** The outline of a value that is too large to be accepted. It is enough to report the right error. */
export interface JsonOutline {
  /** An object with the requested members, and with one other member if any exists. Arrays and objects inside it are empty. */
  readonly value: JsonValue
  readonly text: null
}

interface OutlineRule {
  /** The most members that an accepted value can have, including members of inner objects. */
  readonly membersMax: number
  /** Names of the members that the caller reads. */
  readonly names: ReadonlySet<string>
}

/** Levels of brackets (spec 2.5). */
const DEPTH_MAX = 64

const QUOTE = 0x22
const BACKSLASH = 0x5c
const BYTE_ORDER_MARK = 0xfeff
/** Matches only in text from JSON.stringify, which escapes only lone surrogates. A pair of backslashes is an escaped backslash. */
const LONE_SURROGATE = /[^\\](?:\\\\)*\\ud[89a-f]/
/**
 * Matches only in text from JSON.stringify. A quote after a brace or a comma opens a string, unless it closes a string that
 * ends with that character; in that case no letter can follow the quote.
 */
const PROTO_NAME = /[{,]"__proto__":/

// ignoreBOM: true keeps a byte order mark in the text, so that it can be refused.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Parses I-JSON (RFC 7493) by the rules of spec 2.5: UTF-8, no byte order mark, no duplicate or `__proto__` members in any
 * spelling, no lone surrogates, no number beyond a double, at most 64 levels of brackets. `\u0000` is legal, and so is any
 * value at the top level.
 *
 * JSON.parse reads the text, and JSON.stringify writes the value again. JSON.parse accepts some faults, but each of them is
 * visible in the written text. Both steps take linear time. A 400-byte envelope takes 2 µs.
 * @throws IJsonError, and nothing else.
 */
export function parseIJson(bytes: Uint8Array): ParsedJson {
  const received = decodeUtf8(bytes)
  return parse(received, scan(received, DEPTH_MAX))
}

/**
 * Like `parseIJson`, but reads only the outline of a value with more members than any accepted value has, because building many
 * members takes longer than reading them. The text is still checked to its end.
 */
export function parseOrOutline(bytes: Uint8Array, { membersMax, names }: OutlineRule): ParsedJson | JsonOutline {
  const received = decodeUtf8(bytes)
  const counts = scan(received, DEPTH_MAX)
  return counts.colons > membersMax ? { value: readJson(received, names), text: null } : parse(received, counts)
}

/**
 * Parses JSON that was accepted before. Like JSON.parse, but without the bug that `readValue` describes: the content of one
 * message must not change how the next message is read.
 * @param levels maximum levels of brackets.
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

/** Counts of characters outside strings. */
interface Scan {
  /** The number of members; duplicate names count separately. */
  colons: number
  nulls: number
  /** Whether the name of any member contains a backslash. */
  hasEscapedName: boolean
}

/** Scans the text outside strings. Refuses deep nesting before any recursion. If the text is not JSON, the counts are meaningless. */
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
      case 0x6e: // n, which occurs in no other literal and no number
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

/** Index of the quote that ends the string whose content starts at `start`; the length of the text if there is none. */
function closingQuote(text: string, start: number): number {
  let quote = indexOrEnd(text, '"', start)
  while (quote < text.length) {
    // A quote is escaped if an odd number of backslashes precedes it. This takes linear time, because each backslash
    // precedes only one quote.
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
 * V8 misreads a name with an escape if an earlier text had a member whose name looks like its first characters before
 * unescaping: after `{"a":0,"\\u00":0}`, Node 24 reads `{"a":0,"\u0066rom":0}` as having a member `\u00` (nodejs/node#63785).
 * Such texts are rare, but anybody can send them.
 */
function readValue(text: string, { hasEscapedName }: Scan): JsonValue {
  return hasEscapedName ? readJson(text) : parseJson(text)
}

/**
 * JSON.parse keeps only one of several members with the same name. It reads a number beyond a double as Infinity, which is
 * written as null.
 */
function compare(received: Scan, written: Scan): void {
  if (written.colons !== received.colons) throw new IJsonError('duplicate member names')
  if (written.nulls !== received.nulls) throw new IJsonError('a number beyond a double')
}
