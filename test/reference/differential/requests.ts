/** The request that an operation means in a world. */
import { createHash } from 'node:crypto'
import type { CallOptions } from '@svc/conformance/http/agent.ts'
import type { Operation, OperationOf } from './operation.ts'
import { type Plan, pick, type World } from './world.ts'

export interface Request {
  readonly method: string
  readonly target: string
  readonly options?: CallOptions
  /** Sent by this agent, whoever the operation names. */
  readonly by?: number
  /** The list whose cursor the answer has. */
  readonly list?: string
  /** The message that the request sends. */
  readonly sends?: { readonly id: string; readonly board: number | undefined; readonly envelope: object }
}

type Make<Kind extends Operation['kind']> = (
  operation: OperationOf<Kind>,
  world: World,
  plan: Plan,
  at: number,
) => Request

const ABSENT = 'absent-message-0001'
const ABSENT_BOARD = '0123456789abcdefghijklmn'
/** Nobody verifies `sig` but the recipient (spec 6.3), so any 64 bytes do. */
const SIG = Buffer.alloc(64, 7).toString('base64')

export function requestOf(operation: Operation, world: World, plan: Plan, at: number): Request {
  return (MAKE[operation.kind] as Make<typeof operation.kind>)(operation as never, world, plan, at)
}

const MAKE: { readonly [Kind in Operation['kind']]: Make<Kind> } = {
  send(operation, world, plan, at) {
    const { agents } = world
    const { to, size, sealed, type, ttl, reply, thread, byAddress, by = 0 } = operation
    const sender = agents[by]
    const id = `${plan.prefix}-${at}`
    const content = sealed
      ? {
          body_enc: Buffer.alloc(Math.max(size, 1), at).toString('base64'),
          ephemeral_pub: Buffer.alloc(32, 9).toString('base64'),
        }
      : { body: 'x'.repeat(size - 2), sig: SIG }
    const envelope = {
      ...{
        id,
        from: byAddress ? sender?.address : sender?.id,
        to: agents[to]?.address,
        type,
        ts: new Date(plan.nowMs()).toISOString(),
      },
      ...content,
      ...(ttl === undefined ? {} : { ttl }),
      ...references({ reply_to: reply, thread_id: thread }, plan),
    }
    return sending(id, undefined, envelope)
  },
  post({ board, size, thread, by = 0 }, world, plan, at) {
    const id = `${plan.prefix}-${at}`
    const number = board % Math.max(world.boards.length, 1)
    const envelope = {
      ...{
        id,
        from: world.agents[by]?.id,
        to: `board:${boardOf(world, board)}`,
        type: 'event',
        ts: new Date(plan.nowMs()).toISOString(),
      },
      ...{ body: 'y'.repeat(size - 2), sig: SIG },
      ...references({ thread_id: thread }, plan),
    }
    return sending(id, number, envelope)
  },
  repeat({ message, change }, world, plan) {
    const sent = pick(plan.messages, message)
    const envelope = sent?.envelopes.get(world) ?? { id: ABSENT }
    const other = pick(plan.messages, message + 1)
    const by = change === 'sender' ? ((sent?.sender ?? 0) + 1) % world.agents.length : (sent?.sender ?? 0)
    const changed = {
      none: envelope,
      body: { ...envelope, body: 'another' },
      'id of another': { ...envelope, id: other?.id ?? ABSENT },
      sender: { ...envelope, from: world.agents[by]?.id },
    }[change]
    return { method: 'POST', target: '/v2/messages', by, options: { body: changed } }
  },
  wrongEnvelope({ to, from, change, by = 0 }, world, plan, at) {
    const [first, second] = [world.agents[by], world.agents[(by + 1) % world.agents.length]]
    const elsewhere = (name = ''): string => `${name}@elsewhere.example`
    const recipient = {
      ...{
        nobody: `${plan.prefix}-nobody@${first?.server.authority}`,
        elsewhere: elsewhere('bob'),
        'no address': 'bob',
        Upper: 'BOB@x',
      },
      ...{ 'absent board': `board:${ABSENT_BOARD}`, 'no board': 'board:no' },
    }[to]
    const sender = {
      ...{
        id: first?.id,
        other: second?.id,
        elsewhere: elsewhere(first?.name),
        'no one': `${plan.prefix}-nobody@${first?.server.authority}`,
      },
      'a name': first?.name,
    }[from]
    const ts = (seconds: number): string => new Date(plan.nowMs() + seconds * 1_000).toISOString()
    const envelope = {
      id: `${plan.prefix}-w${at}`,
      from: sender,
      to: recipient,
      type: 'request',
      ts: ts(0),
      body: 1,
      sig: SIG,
    }
    const { id: _, ...withoutId } = envelope
    const changed: Record<typeof change, unknown> = {
      ...{
        none: envelope,
        extra: { ...envelope, extra: 1 },
        'no id': withoutId,
        'short id': { ...envelope, id: 'short' },
      },
      ...{
        'null body': { ...envelope, body: null },
        both: { ...envelope, body_enc: 'AA==' },
        sig: { ...envelope, sig: `${SIG} ` },
      },
      ...{
        ts: { ...envelope, ts: '2026-01-01 12:00:00Z' },
        old: { ...envelope, ts: ts(-400) },
        future: { ...envelope, ts: ts(200) },
      },
      ...{ ttl: { ...envelope, ttl: '60' }, thread: { ...envelope, thread_id: 7 }, list: [envelope] },
    }
    return { method: 'POST', target: '/v2/messages', options: { body: changed[change] } }
  },
  contact: ({ of, state }, { agents }) => put(`/v2/contacts/${agents[of]?.id}`, { state }),
  settings({ policy, discoverable }) {
    const body = {
      ...(policy === undefined ? {} : { inbox_policy: policy }),
      ...(discoverable === undefined ? {} : { discoverable }),
    }
    return { method: 'PATCH', target: '/v2/me', options: { body } }
  },
  act({ message, what }, world, plan) {
    const sent = pick(plan.messages, message)
    const path = `/v2/messages/${sent?.id ?? ABSENT}`
    const hiding = (hidden: boolean): Request =>
      put(`/v2/boards/${boardOf(world, sent?.board ?? 0)}/messages/${sent?.id ?? ABSENT}/visibility`, { hidden })
    return {
      get: () => get(path),
      ack: () => ({ method: 'POST', target: `${path}/ack` }),
      receipts: () => get(`${path}/receipts`),
      vote: () => ({ method: 'PUT', target: `${path}/vote` }),
      unvote: () => ({ method: 'DELETE', target: `${path}/vote` }),
      hide: () => hiding(true),
      restore: () => hiding(false),
    }[what]()
  },
  list(operation, world, plan) {
    const { of, query, place, which, by } = operation
    const root = pick(plan.messages, which)?.id ?? ABSENT
    const path = {
      ...{
        inbox: '/v2/inbox?',
        requests: '/v2/inbox?lane=requests&',
        unacked: '/v2/inbox?unacked=true&',
        export: '/v2/export?',
      },
      ...{ events: '/v2/events?', contacts: '/v2/contacts?', thread: `/v2/inbox?thread_id=${root}&` },
      feed: `/v2/boards/${boardOf(world, which)}/messages?`,
    }[of]
    const list = `${by} ${path.split('?')[0]}`
    const other = [...world.cursors].find(([name]) => name !== list)?.[1] ?? 'nothing'
    const after = {
      none: undefined,
      kept: world.cursors.get(list),
      'kept of another list': other,
      empty: '',
      wrong: 'no cursor',
      number: '2',
    }[place]
    const parts = [query, ...(after === undefined ? [] : [`after=${encodeURIComponent(after)}`])].filter(
      (part) => part !== '',
    )
    return { ...get(path + parts.join('&')), list }
  },
  board({ title, visibility, posting }) {
    return {
      method: 'POST',
      target: '/v2/boards',
      options: { body: { title, visibility, ...(posting === undefined ? {} : { posting }) } },
    }
  },
  readBoard({ board, what }, world) {
    const id = boardOf(world, board)
    if (what === 'details') return get(`/v2/boards/${id}`)
    if (what === 'members') return get(`/v2/boards/${id}/members`)
    return get(`/v2/boards?limit=100&after=${before(world.boards[0] ?? ABSENT_BOARD)}`)
  },
  role: ({ board, of, role }, world) =>
    put(`/v2/boards/${boardOf(world, board)}/members/${world.agents[of]?.id}`, { role }),
  hide({ board, message, hidden }, world, plan) {
    return put(
      `/v2/boards/${boardOf(world, board)}/messages/${pick(plan.messages, message)?.id ?? ABSENT}/visibility`,
      { hidden },
    )
  },
  look({ what, of }, { agents }, { prefix }) {
    if (what === 'no webhook') return { method: 'DELETE', target: '/v2/webhook' }
    const targets = {
      budget: '/v2/budget',
      me: '/v2/me',
      agent: `/v2/agents/${agents[of]?.name}`,
      agents: `/v2/agents?limit=6&after=${prefix}`,
    }
    return get({ ...targets, webhook: '/v2/webhook', health: '/v2/health' }[what])
  },
  wrong: ({ how, by = 0 }, world, plan) => WRONG[how](world, by, plan),
  revoke: ({ by = 0 }, { agents }) => ({
    method: 'POST',
    target: '/v2/me/revoke',
    options: { body: { confirm_agent_id: agents[by]?.id } },
  }),
}

const seconds = (plan: Plan): number => Math.floor(plan.nowMs() / 1_000)
const patch = (options: CallOptions): Request => ({ method: 'PATCH', target: '/v2/me', options })

const WRONG: Record<OperationOf<'wrong'>['how'], (world: World, by: number, plan: Plan) => Request> = {
  replay: (world) => ({ ...get('/v2/me'), options: { sign: { nonce: world.lastNonce } } }),
  stale: (_, __, plan) => ({ ...get('/v2/me'), options: { sign: { timestamp: seconds(plan) - 90 } } }),
  early: (_, __, plan) => ({ ...get('/v2/me'), options: { sign: { timestamp: seconds(plan) + 90 } } }),
  'other key': ({ agents }, by) => {
    const headers = agents[(by + 1) % agents.length]?.sign('GET', '/v2/me', undefined).headers ?? { authorization: '' }
    const signature = headers.authorization.split(':')[1]
    return {
      ...get('/v2/me'),
      options: { headers: { ...headers, authorization: `SVC ${agents[by]?.id}:${signature}` } },
    }
  },
  'other path': () => ({ ...get('/v2/me'), options: { sign: { target: '/v2/budget' } } }),
  'other body': () => patch({ body: { discoverable: true }, sign: { body: '{}' } }),
  'other authority': () => ({ ...get('/v2/me'), options: { sign: { authority: 'elsewhere.example' } } }),
  nonce: () => ({ ...get('/v2/me'), options: { sign: { nonce: 'abc' } } }),
  'lower svc': () => ({ ...get('/v2/me'), options: { headers: { authorization: 'svc a:b' } } }),
  'no nonce': () => ({ ...get('/v2/me'), options: { headers: { 'x-svc-nonce': null } } }),
  'unknown path': () => get('/v2/elsewhere'),
  'unknown method': () => ({ method: 'DELETE', target: '/v2/inbox' }),
  'body on get': () => ({ ...get('/v2/me'), options: { body: '{}' } }),
  json: () => patch({ body: '{"discoverable":tru}' }),
  twice: () => patch({ body: '{"discoverable":true,"discoverable":true}' }),
  proto: () => patch({ body: '{"__proto__":{}}' }),
  depth: () => patch({ body: `{"discoverable":${'['.repeat(64)}${']'.repeat(64)}}` }),
  bom: () => patch({ body: '\ufeff{}' }),
  'media type': () => patch({ body: {}, headers: { 'content-type': 'text/plain' } }),
  array: () => patch({ body: [] }),
  empty: () => patch({ body: {} }),
  null: () => patch({ body: { inbox_policy: null } }),
  'extra member': () => patch({ body: { discoverable: true, name: 'x' } }),
  'webhook url': () => put('/v2/webhook', { url: 'http://messages.example/', secret: 'x'.repeat(32) }),
  pubkey: () => ({
    method: 'POST',
    target: '/v2/challenges',
    by: -1,
    options: { body: { pubkey: `ed25519:${'0'.repeat(64)}` } },
  }),
  'register again': ({ agents }, by) => register(agents[by]?.name, agents[by]?.pubkey),
  'register name': ({ agents }, by) => register('admin', agents[by]?.pubkey),
  confirm: () => ({ method: 'POST', target: '/v2/me/revoke', options: { body: { confirm_agent_id: 'x' } } }),
}

function register(name: string | undefined, pubkey: string | undefined): Request {
  return {
    method: 'POST',
    target: '/v2/agents/register',
    options: { body: { name, pubkey, challenge: 'none', nonce: '1' } },
  }
}

function get(target: string): Request {
  return { method: 'GET', target }
}

function put(target: string, body: object): Request {
  return { method: 'PUT', target, options: { body } }
}

function sending(id: string, board: number | undefined, envelope: object): Request {
  return { method: 'POST', target: '/v2/messages', options: { body: envelope }, sends: { id, board, envelope } }
}

function boardOf({ boards }: World, number: number): string {
  return pick(boards, number) ?? ABSENT_BOARD
}

function references(numbers: Readonly<Record<string, number | undefined>>, { messages }: Plan): Record<string, string> {
  const given = Object.entries(numbers).filter((entry): entry is [string, number] => entry[1] !== undefined)
  return Object.fromEntries(given.map(([name, number]) => [name, pick(messages, number)?.id ?? ABSENT]))
}

/** A key just before this one (spec 7.9: the key in `after` need not exist). */
function before(id: string): string {
  const last = id.charCodeAt(id.length - 1)
  return `${id.slice(0, -1)}${String.fromCharCode(last - 1)}~`
}

/** A name for a run of operations, to find it again. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8)
}
