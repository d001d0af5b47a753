import type { IncomingHttpHeaders } from 'node:http'
import { type TSchema, Type } from '@sinclair/typebox'
import { ServiceError } from '@svc/contracts/errors.ts'
import { isMessageId } from '@svc/contracts/ids.ts'
import { LIMITS } from '@svc/contracts/limits.ts'
import { EventCursor } from '@svc/contracts/resources.ts'
import { SERVER_LIMITS } from './connections/server-limits.ts'

/** One query parameter: its description for OpenAPI, and how its text is parsed. */
interface QueryRule<T> {
  readonly schema: TSchema
  readonly description: string
  readonly example: string | number | boolean
  /** @param text decoded; undefined if the parameter is absent. @throws ServiceError `invalid_request`, `invalid_cursor`. */
  readonly read: (text: string | undefined) => T
}

export type QueryRules = Readonly<Record<string, QueryRule<unknown>>>
export type QueryOf<R extends QueryRules> = { readonly [K in keyof R]: R[K] extends QueryRule<infer T> ? T : never }

/**
 * Reads the query of a request target by the rules of its operation.
 * @throws ServiceError `invalid_request` for a parameter that is undeclared, repeated (spec 3.12) or badly encoded, and every
 *   error of the rules.
 */
export function readQuery<R extends QueryRules>(rules: R, target: string): QueryOf<R> {
  const given = parseQuery(target, rules)
  // `after` comes last, because its fault has a code of its own, which every `invalid_request` precedes (spec 3.12).
  const inOrder = Object.entries(rules).sort(([a], [b]) => Number(a === 'after') - Number(b === 'after'))
  return Object.fromEntries(inOrder.map(([name, rule]) => [name, rule.read(given.get(name))])) as QueryOf<R>
}

/** Reads the headers that an operation uses, by its rules. The values of a repeated header are joined by a comma. */
export function readHeaders<R extends QueryRules>(rules: R, headers: IncomingHttpHeaders): QueryOf<R> {
  const entries = Object.entries(rules).map(([name, rule]) => [name, rule.read(headers[name]?.toString())])
  return Object.fromEntries(entries) as QueryOf<R>
}

const NONE: ReadonlyMap<string, string> = new Map()

/**
 * Parses a query as browsers write it (application/x-www-form-urlencoded). Stops at the first name that is undeclared or
 * repeated, because a target has room for 8,000 pairs.
 */
function parseQuery(target: string, rules: QueryRules): ReadonlyMap<string, string> {
  const start = target.indexOf('?')
  if (start === -1) return NONE
  const given = new Map<string, string>()
  for (const pair of pairsOf(target, start + 1)) {
    const equals = pair.indexOf('=')
    const name = decode(equals === -1 ? pair : pair.slice(0, equals))
    if (!Object.hasOwn(rules, name)) throw invalid(`there is no query parameter ${quote(name)}; ${declared(rules)}`)
    if (given.has(name)) throw invalid(`the query parameter ${quote(name)} is repeated`)
    given.set(name, equals === -1 ? '' : decode(pair.slice(equals + 1)))
  }
  return given
}

function declared(rules: QueryRules): string {
  const names = Object.keys(rules)
  return names.length === 0 ? 'this operation takes none' : `this operation takes ${names.join(', ')}`
}

function* pairsOf(target: string, start: number): Generator<string> {
  for (let from = start; from <= target.length; ) {
    const end = target.indexOf('&', from)
    const pair = target.slice(from, end === -1 ? undefined : end)
    if (pair !== '') yield pair
    if (end === -1) return
    from = end + 1
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch (cause) {
    throw new ServiceError('invalid_request', { detail: 'the query is not percent-encoded UTF-8', cause })
  }
}

/** `limit`: 1 to 100, default 50 (spec 3.12). */
export const limit: QueryRule<number> = {
  schema: Type.Integer({ minimum: LIMITS.pageSizeMin, maximum: LIMITS.pageSizeMax, default: LIMITS.pageSizeDefault }),
  description: 'Size of the page',
  example: 20,
  read(text) {
    if (text === undefined) return LIMITS.pageSizeDefault
    const value = /^[1-9]\d{0,2}$/.test(text) ? Number(text) : Number.NaN
    if (value >= LIMITS.pageSizeMin && value <= LIMITS.pageSizeMax) return value
    throw invalid(`limit must be a whole number from ${LIMITS.pageSizeMin} to ${LIMITS.pageSizeMax}`)
  },
}

/** `after` of a list that is sorted by key: a position in that order. The key need not exist (spec 7.9). */
export const afterKey: QueryRule<string> = {
  schema: Type.String({ default: '', maxLength: SERVER_LIMITS.maxHeaderSize }),
  description: 'Only entries after this key in byte order; the key need not exist',
  example: 'bob',
  read: (text = '') => text,
}

/** `after` of a message list: a `next_cursor` that this list has issued (spec 7.9). Messaging judges it, after it found the list. */
export const afterCursor: QueryRule<string | null> = {
  schema: Type.String({ pattern: '^[A-Za-z0-9_-]+$', minLength: 1, maxLength: 64 }),
  description: 'The opaque next_cursor of the previous page',
  example: 'AAAAAAAAACnciilN-uBXmA',
  read: (text) => text ?? null,
}

/** `after` of the events: a nonnegative integer, default 0 (spec 9.4). */
export const afterEvent: QueryRule<number> = {
  schema: { ...EventCursor, default: 0 },
  description: 'Only events after this cursor',
  example: 41,
  read(text = '0') {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
    if (Number.isSafeInteger(value)) return value
    throw new ServiceError('invalid_cursor')
  },
}

/** `Last-Event-ID`: like `after` of the events, and takes precedence over it; null if it is absent (spec 9.7). */
export const lastEventId: QueryRule<number | null> = {
  schema: EventCursor,
  description: 'Cursor of the last event that the client has processed; takes precedence over `after`',
  example: 41,
  read: (text) => (text === undefined ? null : afterEvent.read(text)),
}

/** `If-None-Match`. Only describes the header, because whatever sends a document compares it (document.ts). */
export const ifNoneMatch: QueryRule<null> = {
  schema: Type.String({ maxLength: SERVER_LIMITS.maxHeaderSize }),
  description: 'The ETag of an earlier answer. The answer is 304 without a body if nothing has changed',
  example: 'W/"IlzZ2aPnHwO4fyTrPvuVag"',
  read: () => null,
}

/** `thread_id`. Text that cannot be an id gives an empty list (spec 7.12), so it becomes `''`, which no message has as its id. */
export const threadId: QueryRule<string | null> = {
  schema: Type.String({ maxLength: SERVER_LIMITS.maxHeaderSize }),
  description: 'Only the message with this id and the messages of its thread',
  example: 'msg-0001',
  read: (text) => (text === undefined ? null : isMessageId(text) ? text : ''),
}

/** `lane` of the inbox: inbox (the default) or requests. */
export const lane: QueryRule<'inbox' | 'requests'> = {
  schema: Type.Unsafe({ type: 'string', enum: ['inbox', 'requests'], default: 'inbox' }),
  description: 'The lane',
  example: 'requests',
  read(text = 'inbox') {
    if (text === 'inbox' || text === 'requests') return text
    throw invalid('lane must be inbox or requests')
  },
}

/** `unacked`: true leaves out acknowledged messages. */
export const unacked: QueryRule<boolean> = {
  schema: Type.Boolean({ default: false }),
  description: 'Only messages that are not acknowledged yet',
  example: true,
  read(text = 'false') {
    if (text === 'true' || text === 'false') return text === 'true'
    throw invalid('unacked must be true or false')
  },
}

function invalid(detail: string): ServiceError {
  return new ServiceError('invalid_request', { detail })
}

function quote(name: string): string {
  return JSON.stringify(name.length > 40 ? `${name.slice(0, 40)}…` : name)
}
