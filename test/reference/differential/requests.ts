/** The request that an operation means in a world. */
import { base64, ENVELOPE_FAULTS, KEY, type Members, RECIPIENTS, references, SENDERS, SIG, tsOf } from './envelopes.ts'
import { FAULTS } from './faults.ts'
import type { Operation, OperationOf } from './operation.ts'
import { ABSENT, ABSENT_AGENT, ABSENT_BOARD, get, post, put, type Request } from './request.ts'
import { LISTS, PATHS, PLACES } from './targets.ts'
import { type Plan, pick, type World } from './world.ts'

type Make<Kind extends Operation['kind']> = (
  operation: OperationOf<Kind>,
  world: World,
  plan: Plan,
  at: number,
) => Request

/** @param at the number of the operation in its run, which makes the ids of messages. */
export function requestOf(operation: Operation, world: World, plan: Plan, at: number): Request {
  return (MAKE[operation.kind] as Make<typeof operation.kind>)(operation as never, world, plan, at)
}

const MAKE: { readonly [Kind in Operation['kind']]: Make<Kind> } = {
  send(operation, world, plan, at) {
    const id = `${plan.prefix}-${at}`
    return sending(id, undefined, directMessage(operation, world, plan, id))
  },
  post(operation, world, plan, at) {
    const id = `${plan.prefix}-${at}`
    return sending(id, operation.board % Math.max(world.boards.length, 1), boardPost(operation, world, plan, id))
  },
  repeat({ message, change }, world, plan) {
    const sent = pick(plan.messages, message)
    const envelope = sent?.envelopes.get(world) ?? { id: ABSENT }
    const other = pick(plan.messages, message + 1)
    const by = change === 'sender' ? ((sent?.sender ?? 0) + 1) % world.agents.length : (sent?.sender ?? 0)
    const changed = {
      none: envelope,
      'order of members': Object.fromEntries(Object.entries(envelope).reverse()),
      body: { ...envelope, body: 'another' },
      'id of another': { ...envelope, id: other?.id ?? ABSENT },
      sender: { ...envelope, from: world.agents[by]?.id },
    }[change]
    return { ...post('/v2/messages', changed), by }
  },
  faultyEnvelope(operation, world, plan, at) {
    return post('/v2/messages', faultyEnvelope(operation, world, plan, `${plan.prefix}-f${at}`))
  },
  path({ method, path, body }, world, plan) {
    return { method, target: PATHS[path](world, plan), options: body ? { body: '{}' } : {} }
  },
  contact: ({ of, state }, { agents }) => put(`/v2/contacts/${agents[of]?.id ?? ABSENT_AGENT}`, { state }),
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
  list({ of, query, place, which, by }, world, plan) {
    const path = LISTS[of](world, plan, which)
    const list = `${by} ${path.split('?')[0]}`
    const after = PLACES[place](world, list, which)
    const parts = [query, ...(after === undefined ? [] : [`after=${encodeURIComponent(after)}`])]
    return { ...get(path + parts.filter((part) => part !== '').join('&')), list }
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
    put(`/v2/boards/${boardOf(world, board)}/members/${world.agents[of]?.id ?? ABSENT_AGENT}`, { role }),
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
  fault: ({ fault, by = 0 }, world, plan) => (FAULTS[fault] ?? (() => get('/v2/me')))(world, by, plan),
  revoke: ({ by = 0 }, { agents }) => post('/v2/me/revoke', { confirm_agent_id: agents[by]?.id }),
}

function directMessage(operation: OperationOf<'send'>, { agents }: World, plan: Plan, id: string): Members {
  const { to, size, sealed, type, ttl, reply, thread, byAddress, by = 0 } = operation
  const sender = agents[by]
  return {
    ...{ id, from: byAddress ? sender?.address : sender?.id, to: agents[to]?.address, type, ts: tsOf(plan) },
    ...(sealed
      ? { body_enc: base64(Math.max(size, 1)), ephemeral_pub: KEY }
      : { body: 'x'.repeat(size - 2), sig: SIG }),
    ...(ttl === undefined ? {} : { ttl }),
    ...references({ reply_to: reply, thread_id: thread }, plan),
  }
}

function boardPost(operation: OperationOf<'post'>, world: World, plan: Plan, id: string): Members {
  const { board, size, reply, thread, by = 0 } = operation
  const to = `board:${pick(world.boards, board) ?? ABSENT_BOARD}`
  return {
    ...{ id, from: world.agents[by]?.id, to, type: 'event', ts: tsOf(plan), body: 'y'.repeat(size - 2), sig: SIG },
    ...references({ reply_to: reply, thread_id: thread }, plan),
  }
}

/** An envelope with at most one fault in `from`, one in `to` and one elsewhere. */
function faultyEnvelope(operation: OperationOf<'faultyEnvelope'>, world: World, plan: Plan, id: string): unknown {
  const { from, to, fault, by = 0 } = operation
  const envelope = {
    ...{ id, from: SENDERS[from](world, by), to: RECIPIENTS[to](world, by), type: 'request', ts: tsOf(plan) },
    ...{ body: 1, sig: SIG },
  }
  return ENVELOPE_FAULTS[fault](envelope, plan)
}

function sending(id: string, board: number | undefined, envelope: object): Request {
  return { ...post('/v2/messages', envelope), sends: { id, board, envelope } }
}

function boardOf({ boards }: World, number: number): string {
  return pick(boards, number) ?? ABSENT_BOARD
}

/** A key just before this one (spec 7.9: the key in `after` need not exist). */
function before(id: string): string {
  const last = id.charCodeAt(id.length - 1)
  return `${id.slice(0, -1)}${String.fromCharCode(last - 1)}~`
}
