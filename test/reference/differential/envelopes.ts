/** Parts of the envelopes that agents of a differential run send, and what can be wrong with them. */
import { ABSENT, ABSENT_AGENT, ABSENT_BOARD } from './request.ts'
import { type Plan, pick, type World } from './world.ts'

/** Nobody verifies `sig` but the recipient (spec 6.3), so any 64 bytes do. */
export const SIG = base64(64)
export const KEY = base64(32)

export type Members = Readonly<Record<string, unknown>>

const nobodyAt = ({ agents }: World): string => `nobody-${agents[0]?.name.slice(0, 8)}@${agents[0]?.server.authority}`

export const SENDERS = {
  'own id': ({ agents }: World, by: number) => agents[by]?.id,
  'own address': ({ agents }: World, by: number) => agents[by]?.address,
  'id of another': ({ agents }: World, by: number) => agents[(by + 1) % agents.length]?.id,
  'address of another': ({ agents }: World, by: number) => agents[(by + 1) % agents.length]?.address,
  'own name elsewhere': ({ agents }: World, by: number) => `${agents[by]?.name}@elsewhere.example`,
  nobody: nobodyAt,
  'id of nobody': () => ABSENT_AGENT,
  'a name': ({ agents }: World, by: number) => agents[by]?.name,
  'a short id': ({ agents }: World, by: number) => agents[by]?.id.slice(2),
  'a space': ({ agents }: World, by: number) => `${agents[by]?.id} `,
  'a board': () => `board:${ABSENT_BOARD}`,
  empty: () => '',
  number: () => 1,
  absent: () => undefined,
} as const

export const RECIPIENTS = {
  agent: ({ agents }: World, by: number) => agents[(by + 1) % agents.length]?.address,
  nobody: nobodyAt,
  elsewhere: () => 'bob@elsewhere.example',
  'an id': ({ agents }: World) => agents[0]?.id,
  'a name': () => 'bob',
  'upper case': () => 'BOB@elsewhere.example',
  'no authority': () => 'bob@',
  'a port too long': () => 'bob@elsewhere.example:123456',
  'absent board': () => `board:${ABSENT_BOARD}`,
  'no board': () => 'board:no',
  'board in upper case': () => `BOARD:${ABSENT_BOARD}`,
  null: () => null,
  absent: () => undefined,
} as const

type Fault = (envelope: Members, plan: Plan) => unknown
const set =
  (members: Members): Fault =>
  (envelope) => ({ ...envelope, ...members })
const setTs =
  (seconds: number, change: (ts: string) => string = (ts) => ts): Fault =>
  (envelope, plan) => ({ ...envelope, ts: change(tsOf(plan, seconds)) })
const SEALED = { body: undefined, sig: undefined, body_enc: base64(3), ephemeral_pub: KEY }

/** Each changes one thing of an envelope (spec 6.1, 6.7). JSON leaves out a member that is undefined. */
export const ENVELOPE_FAULTS = {
  none: set({}),
  'undefined member': set({ extra: 1 }),
  'a list': (envelope) => [envelope],
  'a text': () => 'envelope',
  null: () => null,
  'no id': set({ id: undefined }),
  'short id': set({ id: 'short' }),
  'long id': set({ id: 'x'.repeat(81) }),
  'id with a dot': set({ id: 'message.0001' }),
  'number as id': set({ id: 12_345_678 }),
  'no type': set({ type: undefined }),
  'other type': set({ type: 'Request' }),
  'no ts': set({ ts: undefined }),
  'number as ts': set({ ts: 1_800_000_000 }),
  'space in ts': setTs(0, (ts) => ts.replace('T', ' ')),
  'ts in lower case': setTs(0, (ts) => ts.toLowerCase()),
  'ts with nine digits': setTs(0, (ts) => ts.replace('Z', '456789Z')),
  'ts with ten digits': setTs(0, (ts) => ts.replace('Z', '4567890Z')),
  'ts without offset': setTs(0, (ts) => ts.replace('Z', '')),
  'ts with offset': setTs(5_400, (ts) => ts.replace('Z', '+01:30')),
  'ts of no day': set({ ts: '2026-02-30T12:00:00Z' }),
  'leap second': set({ ts: '2016-12-31T23:59:60Z' }),
  'no leap second': set({ ts: '2016-12-30T23:59:60Z' }),
  'old ts': setTs(-400),
  'old ts that is allowed': setTs(-290),
  'ts of the future': setTs(200),
  'ts of the near future': setTs(50),
  'text as ttl': set({ ttl: '60' }),
  'negative ttl': set({ ttl: -1 }),
  'ttl with a fraction': set({ ttl: 1.5 }),
  'ttl null': set({ ttl: null }),
  'huge ttl': set({ ttl: 1e300 }),
  'ttl that is over': (envelope, plan) => ({ ...envelope, ts: tsOf(plan, -200), ttl: 100 }),
  'old ts and ttl that is over': (envelope, plan) => ({ ...envelope, ts: tsOf(plan, -400), ttl: 100 }),
  'number as reply': set({ reply_to: 7 }),
  'reply null': set({ reply_to: null }),
  'no id as reply': set({ reply_to: 'no id' }),
  'absent reply': set({ reply_to: ABSENT }),
  'number as thread': set({ thread_id: 7 }),
  'empty thread': set({ thread_id: '' }),
  'absent thread': set({ thread_id: ABSENT }),
  'body null': set({ body: null }),
  'no body': set({ body: undefined }),
  'large body': set({ body: 'x'.repeat(17_000) }),
  'large body that is not ASCII': set({ body: '\u20ac'.repeat(3_998) }),
  'long body that is not ASCII': set({ body: '\u{1f600}'.repeat(3_999) }),
  'no sig': set({ sig: undefined }),
  'space in sig': set({ sig: `${SIG} ` }),
  'short sig': set({ sig: base64(63) }),
  'unpadded sig': set({ sig: SIG.replace(/=+$/, '') }),
  'sig with unused bits': set({ sig: SIG.replace(/.==$/, 'x==') }),
  sealed: set(SEALED),
  'sealed and a body': set({ ...SEALED, body: 1 }),
  'sealed and a sig': set({ ...SEALED, sig: SIG }),
  'empty body_enc': set({ ...SEALED, body_enc: '' }),
  'number as body_enc': set({ ...SEALED, body_enc: 1 }),
  'base64url as body_enc': set({ ...SEALED, body_enc: '_-8=' }),
  'large body_enc': set({ ...SEALED, body_enc: base64(16_385) }),
  'no ephemeral_pub': set({ ...SEALED, ephemeral_pub: undefined }),
  'short ephemeral_pub': set({ ...SEALED, ephemeral_pub: base64(31) }),
} as const satisfies Record<string, Fault>

export function base64(bytes: number): string {
  return Buffer.alloc(bytes, 7).toString('base64')
}

export function tsOf(plan: Plan, seconds = 0): string {
  return new Date(plan.nowMs() + seconds * 1_000).toISOString()
}

export function references(numbers: Readonly<Record<string, number | undefined>>, { messages }: Plan): Members {
  const given = Object.entries(numbers).filter((entry): entry is [string, number] => entry[1] !== undefined)
  return Object.fromEntries(given.map(([name, number]) => [name, pick(messages, number)?.id ?? ABSENT]))
}
