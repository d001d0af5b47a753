/** What the files in `client-cases` hold. A case is read by people who write clients in any language, so it is data. */
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { findFolder } from '../report/rules.ts'
import type { Forgery, MessageDraft } from './messages.ts'

/** How the scripted service answers one request. Everything that is left out is as the service would have it. */
export interface Answer {
  readonly status?: number
  /** A refusal with this code of spec 4.3, or with one that the client cannot know. */
  readonly error?: string
  /** Seconds, or `date <seconds>` for the same as a date. */
  readonly retry_after?: number | string
  /** The HTML page of a proxy in place of the service's JSON. */
  readonly html?: boolean
  /** Cuts the connection: `before` the request takes effect, `after` it, or in the middle of the answer to it. */
  readonly cut?: 'before' | 'after' | 'midway'
  /** How far `Date` is ahead of the clock, in seconds. */
  readonly date_ahead?: number
  readonly json?: unknown
  /** The answer to a look-up: this name, with the key and the id of these agents. */
  readonly agent?: { readonly name: string; readonly key: string; readonly id: string }
  readonly headers?: Readonly<Record<string, string>>
  /** `here`: another path of this service. `elsewhere`: another server. */
  readonly redirect?: 'here' | 'elsewhere'
  readonly stream?: readonly Frame[]
  /** How many bytes of a stream are sent at a time. Default: all. */
  readonly chunk?: number
  /** How often this answer is given. Default 1. */
  readonly times?: number
}

export type Frame =
  /** `retry: 1000`; the end of the body; a cut of the connection. The last frame is followed by silence. */
  | 'retry'
  | 'end'
  | 'cut'
  /** The event with this cursor, or only the first half of its bytes. */
  | { readonly event: number }
  | { readonly half: number }
  | { readonly cursor: number }
  | { readonly comment: string }

export interface StoredEvent extends MessageDraft {
  readonly cursor: number
  readonly kind?: 'inbox' | 'requests'
  readonly forge?: Forgery
}

/** `POST /v2/messages`. `{name}` stands for one segment. */
type Route = string

/** What the adapter must answer. */
export type Reply =
  | 'ok'
  /** Any refusal. */
  | 'refused'
  /** Anything, also none within the time that the step has. */
  | 'any'
  | { readonly ok: unknown }
  /** `ok` must not be this. A refusal, or no answer in time, will do. */
  | { readonly not: unknown }
  | { readonly error: string }

export interface Step {
  /** The operation of the adapter and its arguments, or `restart`: the client's process is killed and starts again. */
  readonly do: string
  readonly with?: Readonly<Record<string, unknown>>
  /** Default `ok`. */
  readonly reply?: Reply
  /** How many seconds the client has. Default 30. */
  readonly within?: number
}

/** What the client's requests of one kind must have been. */
export interface Expectation {
  readonly requests: Route
  readonly count?: number
  readonly at_least?: number
  readonly at_most?: number
  /** Seconds that must lie between one answer and the next request. */
  readonly waits?: readonly number[]
  /** The same envelope in each: the same JCS bytes. */
  readonly same_envelope?: boolean
  /** Timestamps rise from request to request. */
  readonly new_timestamps?: boolean
  /** For each request, how many seconds its timestamp is ahead of the true time, give or take 30. */
  readonly ahead?: readonly number[]
  /** For each request, the place behind which it reads: `Last-Event-ID`, or else `after`. */
  readonly after?: readonly (string | number)[]
  /** One of the checks in `checks.ts`. */
  readonly check?: string
}

export interface ClientCase {
  readonly id: string
  readonly title: string
  readonly spec: readonly string[]
  /** `should`: the specification recommends it. */
  readonly level: 'must' | 'should'
  /** The client's agent. Default bob. */
  readonly as: string
  /** How far the service's clock is ahead of the true time, in seconds. Default 0. */
  readonly ahead: number
  readonly events: readonly StoredEvent[]
  /** The next answers to requests of a kind. When they are used up, the service answers as it should. */
  readonly answers: Readonly<Record<Route, readonly Answer[]>>
  /** What the adapter must answer when it starts, because a client may sign a request then. Default `ok`. */
  readonly start: Reply
  readonly steps: readonly Step[]
  readonly expect: readonly Expectation[]
}

const FILES = ['signing', 'sending', 'retrying', 'clock', 'reading', 'streams', 'trust', 'verifying']

export function readCases(): ClientCase[] {
  const folder = findFolder('client-cases')
  return FILES.flatMap((file) => parse(readFileSync(`${folder}${file}.yaml`, 'utf8'))).map((one) => ({
    level: 'must',
    as: 'bob',
    ahead: 0,
    events: [],
    answers: {},
    start: 'ok',
    expect: [],
    ...one,
  }))
}
