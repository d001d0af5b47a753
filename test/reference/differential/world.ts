/** One of the two servers in a differential run, with what it answered so far. */
import { randomBytes } from 'node:crypto'
import type { Agent } from '@svc/conformance/http/agent.ts'
import type { Answer } from '@svc/conformance/http/exchange.ts'

export interface World {
  readonly name: string
  readonly agents: readonly Agent[]
  /** Ids of boards in the order of creation. Each server chooses its own. */
  readonly boards: string[]
  /** The last opaque cursor of each list, by agent and list. */
  readonly cursors: Map<string, string>
  /** A nonce that every agent has used. */
  readonly nonce: string
}

/** What both worlds share. */
export interface Plan {
  /** Begins every name and id of the run. */
  readonly prefix: string
  readonly messages: Sent[]
  /** The same for both servers, so that `ts` and times of expiry agree. */
  readonly nowMs: () => number
}

interface Sent {
  readonly id: string
  readonly sender: number
  /** The envelope, as each world got it. */
  readonly envelopes: ReadonlyMap<World, object>
  /** The board, as its number; undefined for a direct message. */
  readonly board: number | undefined
  /** When it expires during the run, in Unix milliseconds; otherwise infinity. */
  readonly expiresMs: number
}

export function newPrefix(): string {
  return `d${randomBytes(5).toString('hex')}`
}

/** @returns the element at this number, modulo their count. */
export function pick<T>(all: readonly T[], number: number): T | undefined {
  return all[number % Math.max(all.length, 1)]
}

/** What a client may compare: the rest is the server's own choice (spec 1.5), or the time. */
export function comparable({ status, headers, text, body }: Answer, { boards }: World, { prefix }: Plan): unknown {
  const code: unknown = body?.error?.code
  const content = code === undefined ? { body: plain(body, boards, prefix) } : { code }
  return { status, ...content, headers: comparableHeaders(headers, text !== '') }
}

const DAY_SECONDS = 86_400

/** @param hasBody an answer to HEAD may have a Content-Type or none (spec 3.14). */
function comparableHeaders(headers: Headers, hasBody: boolean): unknown {
  const retryAfter = headers.get('retry-after')
  const toMidnight = DAY_SECONDS - ((Date.now() / 1_000) % DAY_SECONDS)
  const isDaily = retryAfter !== null && Math.abs(Number(retryAfter) - toMidnight) < 10
  return {
    always: ['date', 'x-request-id'].filter((name) => headers.has(name)),
    'content-type': hasBody ? headers.get('content-type') : undefined,
    // A server chooses Retry-After, except for errors of the budget, where it is the time to midnight (spec 4.2).
    'retry-after': isDaily ? 'midnight' : retryAfter?.replace(/^[1-9][0-9]*$/, 'a number'),
    earliest: headers.get('x-svc-earliest-cursor'),
    latest: headers.get('x-svc-latest-cursor'),
  }
}

const TIMES = new Set(['created_at', 'accepted_at'])

function plain(value: unknown, boards: readonly string[], prefix: string): unknown {
  if (typeof value === 'string') return withoutIds(value, boards)
  if (Array.isArray(value)) return value.map((one) => plain(one, boards, prefix))
  if (typeof value !== 'object' || value === null) return value
  const given = value as Record<string, unknown>
  const entries = Object.entries(given).map(([name, one]): [string, unknown] => {
    if (name === 'challenge') return [name, 'a challenge']
    if (TIMES.has(name) || 'challenge' in given)
      return [name, typeof one === 'number' && Math.abs(one * 1_000 - Date.now()) < 600_000 ? 'a time' : one]
    if (name === 'expires_at') return [name, one === Number(given.created_at) + 30 * 86_400 ? 'the retention' : one]
    if (name === 'next_cursor' && typeof one === 'string' && one !== '') return [name, 'a cursor']
    // The lists of everybody hold what other runs made.
    if (name === 'agents' && Array.isArray(one))
      return [
        name,
        plain(
          one.filter((each) => each.name.startsWith(prefix)),
          boards,
          prefix,
        ),
      ]
    if (name === 'boards' && Array.isArray(one))
      return [
        name,
        plain(
          one.filter((each) => boards.includes(each.id)),
          boards,
          prefix,
        ),
      ]
    return [name, plain(one, boards, prefix)]
  })
  return Object.fromEntries(entries)
}

function withoutIds(text: string, boards: readonly string[]): string {
  const at = boards.indexOf(text.replace(/^board:/, ''))
  return at === -1 ? text : text.replace(boards[at] ?? '', `<board ${at}>`)
}
