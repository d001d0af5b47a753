/**
 * What six agents do in a differential run. An operation names agents, boards and messages by numbers, so that it means the same on
 * both servers, and so that a shorter list of operations still has a meaning.
 */
import fc from 'fast-check'
import { ENVELOPE_FAULTS, RECIPIENTS, SENDERS } from './envelopes.ts'
import { FAULTS } from './faults.ts'
import { LISTS, METHODS, PATHS, PLACES, QUERIES } from './targets.ts'

export const AGENTS = 6

/** Numbers of earlier things. They count modulo the number of things that there are. */
const earlier = fc.nat(40)
const agent = fc.nat(AGENTS - 1)
/** In one of seven cases an id that nobody has. */
const anyAgent = fc.nat(AGENTS)

const SIZES = [2, 900, 1_023, 1_024, 1_025, 3_998, 3_999, 5_000] as const
/** A message with this ttl expires during the run. */
export const SHORT_TTL_SECONDS = 4

function nameIn<Table extends object>(table: Table): fc.Arbitrary<keyof Table & string> {
  return fc.constantFrom(...(Object.keys(table) as (keyof Table & string)[]))
}

/** `none` half of the time, so that a request has one fault more often than several. */
function nearly<Name extends string>(right: NoInfer<Name>, names: fc.Arbitrary<Name>): fc.Arbitrary<Name> {
  return fc.oneof(fc.constant(right), names)
}

const arbitraries = {
  send: fc.record({
    to: agent,
    size: fc.constantFrom(...SIZES),
    sealed: fc.boolean(),
    type: fc.constantFrom('request', 'response', 'event', 'error', 'request', 'other'),
    ttl: fc.option(fc.constantFrom(0, 1_000, SHORT_TTL_SECONDS, 60.5, -1, 10_000_000), { nil: undefined, freq: 4 }),
    reply: fc.option(earlier, { nil: undefined, freq: 3 }),
    thread: fc.option(earlier, { nil: undefined, freq: 3 }),
    byAddress: fc.boolean(),
  }),
  post: fc.record({
    board: earlier,
    size: fc.constantFrom(...SIZES, 15_999),
    reply: fc.option(earlier, { nil: undefined, freq: 3 }),
    thread: fc.option(earlier, { nil: undefined }),
  }),
  repeat: fc.record({
    message: earlier,
    change: fc.constantFrom('none', 'none', 'order of members', 'body', 'id of another', 'sender'),
  }),
  faultyEnvelope: fc.record({
    from: nearly('own id', nameIn(SENDERS)),
    to: nearly('agent', nameIn(RECIPIENTS)),
    fault: nameIn(ENVELOPE_FAULTS),
  }),
  path: fc.record({ method: fc.constantFrom(...METHODS), path: nameIn(PATHS), body: fc.boolean() }),
  contact: fc.record({ of: anyAgent, state: fc.constantFrom('accepted', 'accepted', 'blocked', 'none', 'friend') }),
  settings: fc.record({
    policy: fc.constantFrom(undefined, 'requests', 'open', 'open', 'contacts', 'closed', 'wide'),
    discoverable: fc.constantFrom(undefined, true, false),
  }),
  act: fc.record({
    message: earlier,
    what: fc.constantFrom('get', 'ack', 'receipts', 'vote', 'unvote', 'hide', 'restore'),
  }),
  list: fc.record({
    of: nameIn(LISTS),
    query: fc.constantFrom(...QUERIES),
    place: nearly('none', fc.oneof(fc.constant('kept' as const), nameIn(PLACES))),
    which: earlier,
  }),
  board: fc.record({
    title: fc.constantFrom('a board', '', 'x'.repeat(120), 'x'.repeat(121), '\u{1f600}'.repeat(120)),
    visibility: fc.constantFrom('public', 'unlisted', 'private', 'private', 'secret'),
    posting: fc.constantFrom(undefined, 'members', 'anyone', 'all'),
  }),
  readBoard: fc.record({ board: earlier, what: fc.constantFrom('details', 'members', 'listed') }),
  role: fc.record({
    board: earlier,
    of: anyAgent,
    role: fc.constantFrom('reader', 'writer', 'banned', 'none', 'owner', 'guest'),
  }),
  hide: fc.record({ board: earlier, message: earlier, hidden: fc.boolean() }),
  look: fc.record({
    what: fc.constantFrom('budget', 'me', 'agent', 'agents', 'webhook', 'no webhook', 'health'),
    of: agent,
  }),
  fault: fc.record({ fault: nameIn(FAULTS) }),
  revoke: fc.record({}),
}

/** How often each kind comes. Revocation ends an agent, so it is rare. */
const WEIGHTS: Record<keyof typeof arbitraries, number> = {
  ...{ send: 22, post: 10, repeat: 5, faultyEnvelope: 10, contact: 8, settings: 5, act: 12, list: 16 },
  ...{ board: 5, readBoard: 5, role: 8, hide: 4, look: 8, path: 8, fault: 16, revoke: 0.4 },
}

type Arbitraries = typeof arbitraries
type Given<Kind extends keyof Arbitraries> = Arbitraries[Kind] extends fc.Arbitrary<infer Value> ? Value : never

export type Operation = {
  [Kind in keyof Arbitraries]: { readonly kind: Kind; readonly by: number | undefined } & Given<Kind>
}[keyof Arbitraries]
export type OperationOf<Kind extends Operation['kind']> = Extract<Operation, { kind: Kind }>

const kinds = Object.keys(arbitraries) as Operation['kind'][]

/** One operation. Its caller is an agent, or in one of 25 cases nobody. */
export const operation: fc.Arbitrary<Operation> = fc.oneof(
  ...kinds.map((kind) => ({
    weight: Math.ceil(WEIGHTS[kind] * 20),
    arbitrary: fc
      .tuple(fc.option(agent, { nil: undefined, freq: 24 }), arbitraries[kind] as fc.Arbitrary<object>)
      .map(([by, given]) => ({ kind, by, ...given }) as Operation),
  })),
)
