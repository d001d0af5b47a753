/** Each entry of the tables of a differential run once. Random operations reach a rare entry late. */
import { ENVELOPE_FAULTS, RECIPIENTS, SENDERS } from './envelopes.ts'
import { FAULTS } from './faults.ts'
import type { Operation, OperationOf } from './operation.ts'
import { LISTS, METHODS, PATHS, PLACES, QUERIES } from './targets.ts'

const by = 0
const send: OperationOf<'send'> = {
  ...{ kind: 'send', by: 1, to: 0, size: 900, sealed: false, type: 'request', ttl: undefined },
  ...{ reply: undefined, thread: undefined, byAddress: true },
}
const post: OperationOf<'post'> = { kind: 'post', by, board: 0, size: 900, reply: undefined, thread: undefined }
const board: OperationOf<'board'> = { kind: 'board', by, title: 'a board', visibility: 'public', posting: 'anyone' }
const list: OperationOf<'list'> = { kind: 'list', by, of: 'inbox', query: '', place: 'none', which: 0 }
const faulty: OperationOf<'faultyEnvelope'> = { kind: 'faultyEnvelope', by, from: 'own id', to: 'agent', fault: 'none' }

/** Messages in each list, and a cursor of each. */
const WORLD: readonly Operation[] = [
  { kind: 'settings', by, policy: 'open', discoverable: undefined },
  { kind: 'settings', by: 1, policy: 'open', discoverable: undefined },
  ...[send, send, { ...send, by, to: 1 }, board, board, post, post, { ...post, board: 1 }, { ...post, board: 1 }],
  ...keysOf(LISTS).map((of): Operation => ({ ...list, of, query: 'limit=1' })),
]

export const SWEEP: readonly Operation[] = [
  ...WORLD,
  ...keysOf(ENVELOPE_FAULTS).map((fault): Operation => ({ ...faulty, fault })),
  ...keysOf(SENDERS).map((from): Operation => ({ ...faulty, from })),
  ...keysOf(RECIPIENTS).map((to): Operation => ({ ...faulty, to })),
  ...keysOf(FAULTS).map((fault): Operation => ({ kind: 'fault', by, fault })),
  ...METHODS.map((method): Operation => ({ kind: 'path', by, method, path: 'me', body: false })),
  ...keysOf(PATHS).flatMap((path): Operation[] => [
    { kind: 'path', by, method: 'GET', path, body: false },
    { kind: 'path', by: undefined, method: 'PUT', path, body: true },
    { kind: 'path', by, method: 'PUT', path, body: true },
  ]),
  ...(['inbox', 'events', 'contacts', 'feed'] as const).flatMap((of) =>
    QUERIES.map((query): Operation => ({ ...list, of, query })),
  ),
  ...keysOf(LISTS).flatMap((of) => keysOf(PLACES).map((place): Operation => ({ ...list, of, place }))),
]

function keysOf<Table extends object>(table: Table): (keyof Table & string)[] {
  return Object.keys(table) as (keyof Table & string)[]
}
