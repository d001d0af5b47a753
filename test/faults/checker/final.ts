/** The final state of the idle system. It is read over the API; the books are read from each schema. */
import postgres from 'postgres'
import { eventually } from '../../support/eventually.ts'
import type { Body, Call, Seen } from '../history/calls.ts'
import { type Entry, readHistory } from '../history/history.ts'
import type { FaultSystem } from '../nemesis/fault-system.ts'
import type { Round } from '../workload/round.ts'
import type { Actor } from '../workload/scene.ts'

export interface FinalAgent {
  readonly id: string
  readonly name: string
  /** If true, the other fields are empty, because the agent can no longer read anything. */
  readonly revoked: boolean
  readonly me: Body
  readonly budget: { used: number; introductions: number; credits: number }
  readonly contacts: Readonly<Record<string, string>>
  readonly inbox: readonly Seen[]
  readonly requests: readonly Seen[]
  readonly events: readonly Seen[]
  readonly exported: readonly Seen[]
  readonly webhook: NonNullable<Body['webhook']> | undefined
}

interface FinalBoard {
  readonly id: string
  /** As its owner sees it; undefined if the owner is revoked. */
  readonly members: Readonly<Record<string, string>> | undefined
  readonly feed: readonly Seen[] | undefined
}

/** A row of messaging.messages. Of a purged message, only the id remains, because ids are never reused. */
interface StoredMessage {
  readonly id: string
  readonly sender: string
  readonly recipient: string | null
  readonly lane: string
  readonly position: number | null
  readonly request_position: number | null
  readonly upvotes: number
  readonly hidden: boolean
  readonly purged: boolean
}

interface StoredEntry {
  readonly log: string
  readonly kind: string
  readonly position: number
  readonly message: string
}

/** The amount that an operation charged, and to which agent. */
export interface StoredCharge {
  readonly operation: string
  readonly state: string
  readonly agent_id: string
  readonly units: number
  readonly credits: number
  readonly introduces: boolean
  readonly introduction_peer: string | null
  readonly day: string
}

export interface Final {
  readonly agents: readonly FinalAgent[]
  readonly boards: readonly FinalBoard[]
  readonly messages: readonly StoredMessage[]
  readonly entries: readonly StoredEntry[]
  readonly heads: Readonly<Record<string, number>>
  readonly votes: readonly { readonly message: string; readonly voter: string }[]
  readonly charges: readonly StoredCharge[]
  /** The accounts of these agents, by UTC day. */
  readonly days: readonly { agent_id: string; day: string; used: number; introductions: number; drawn: number }[]
  readonly accounts: readonly { agent_id: string; credits: number; granted: number }[]
  readonly introductions: readonly { agent_id: string; peer: string; day: string; settled: boolean }[]
  /** Operations that their owners recorded as committed. */
  readonly committed: readonly string[]
  readonly memberships: readonly { board_id: string; agent_id: string; role: string }[]
  readonly owned: readonly { id: string; owner: string }[]
}

const HEALTHY_LIMIT_MS = 60_000
/** Time for every reservation to end: a minute after its deadline. */
const RESOLVED_LIMIT_MS = 80_000
const CAUGHT_UP_LIMIT_MS = 60_000
const PAGE = 100

/** Waits until no work is under way. @returns one sentence for each kind of work that did not end in time. */
export async function untilAtRest({ scene, followers }: Round, system: FaultSystem): Promise<string[]> {
  const problems: string[] = []
  const within = async (what: string, timeoutMs: number, check: () => Promise<boolean>): Promise<void> => {
    await eventually(check, { timeoutMs, what }).catch((error: unknown) => problems.push(`${what}: ${error}`))
  }
  await system.untilHealthy(HEALTHY_LIMIT_MS)
  const sql = postgres(system.adminUrl, { max: 1, onnotice: () => {} })
  try {
    const ids = scene.actors.map(({ agent }) => agent.id)
    const none = (rows: readonly unknown[]): boolean => rows.length === 0
    await within('every reservation being settled or released', RESOLVED_LIMIT_MS, async () =>
      none(await sql`select from budget.reservations where state = 'held' limit 1`),
    )
    await within('identity having pushed every mailbox to messaging', CAUGHT_UP_LIMIT_MS, async () =>
      none(await sql`select from identity.agents where mailbox_pushed < mailbox_version limit 1`),
    )
    await within('every stream having reached the end of its log', CAUGHT_UP_LIMIT_MS, async () => {
      const heads = await sql`select id, head::int from messaging.logs where id = any (${ids})`
      const headOf = new Map(heads.map((row) => [row.id as string, row.head as number]))
      return followers.every(({ actor, last }) => actor.revoked || last >= (headOf.get(actor.agent.id) ?? 0))
    })
    const hooked = scene.actors.filter(({ webhooks, revoked }) => webhooks > 0 && !revoked)
    // An event that arrived while a configuration was being set may belong to the previous configuration. If a process did
    // not finish its events, they are redelivered later.
    const since = hooked.map(({ hookedMs }) => Math.ceil(hookedMs / 1_000) + 1)
    await within('every event having become a job of its webhook', RESOLVED_LIMIT_MS, async () =>
      none(
        await sql`
        select from webhook.endpoints p
        join unnest(${hooked.map(({ agent }) => agent.id)}::text[], ${since}::bigint[]) as h (agent_id, since)
          on h.agent_id = p.agent_id
        join messaging.entries e on e.log = p.agent_id and e.kind = 'inbox' and e.position > p.after_cursor
        join messaging.messages m on m.place = e.message and m.accepted_at > h.since
        where p.configuration is not null and e.expires_at > extract(epoch from clock_timestamp())
          and not exists (
            select from webhook.jobs j where j.configuration = p.configuration and j.message_id = m.id
          )
        limit 1`,
      ),
    )
    await within('every webhook having nothing to do', CAUGHT_UP_LIMIT_MS, async () => {
      const states = await Promise.all(hooked.map(({ client }) => client.attempt({ kind: 'webhook' })))
      return states.every(({ status, body }) => status === 404 || body.webhook?.pending === 0 || status === 401)
    })
  } finally {
    await sql.end({ timeout: 5 })
  }
  return problems
}

export async function readFinal({ scene, history }: Round, system: FaultSystem): Promise<Final> {
  const agents: FinalAgent[] = []
  for (const actor of scene.actors) agents.push(await readAgent(actor))
  const boards: FinalBoard[] = []
  for (const { id, owner } of scene.boards) {
    const actor = scene.actorOf(owner)
    const isGone = actor === undefined || agents.some((one) => one.id === owner && one.revoked)
    if (isGone) boards.push({ id, members: undefined, feed: undefined })
    else {
      const { members } = (await got(actor, { kind: 'members', board: id })) ?? {}
      boards.push({
        id,
        members,
        feed: await readAll(actor, (after) => ({ kind: 'feed', board: id, after, limit: PAGE })),
      })
    }
  }
  const sql = postgres(system.adminUrl, { max: 1, onnotice: () => {}, types: { bigint: postgres.BigInt } })
  try {
    const ids = scene.actors.map(({ agent }) => agent.id)
    await history.flush()
    const sent = sendersOf(await readHistory(history.path))
    // Read one snapshot, so that a row is not in one table and missing from another. A partition that is truncated
    // meanwhile is empty even in an older snapshot, so take the locks first.
    const stored = await sql.begin('isolation level repeatable read', async (tx) => {
      await tx`lock table messaging.messages, messaging.entries, messaging.votes in access share mode`
      return readSchemas(tx, ids, sent)
    })
    return { agents, boards, ...stored }
  } finally {
    await sql.end({ timeout: 5 })
  }
}

async function readAgent(actor: Actor): Promise<FinalAgent> {
  const { id, name } = actor.agent
  const me = await got(actor, { kind: 'me' })
  const empty = { budget: { used: 0, introductions: 0, credits: 0 }, contacts: {}, inbox: [], requests: [], events: [] }
  if (me === undefined) return { id, name, revoked: true, me: {}, exported: [], webhook: undefined, ...empty }
  const lane = (which: 'inbox' | 'requests'): Promise<Seen[]> =>
    readAll(actor, (after) => ({ kind: 'inbox', lane: which, after, limit: PAGE, unacked: false }))
  return {
    id,
    name,
    revoked: false,
    me,
    budget: (await got(actor, { kind: 'budget' }))?.budget ?? empty.budget,
    contacts: (await got(actor, { kind: 'contacts' }))?.contacts ?? {},
    inbox: await lane('inbox'),
    requests: await lane('requests'),
    events: await readEvents(actor),
    exported: await readAll(actor, (after) => ({ kind: 'export', after, limit: PAGE })),
    webhook: (await got(actor, { kind: 'webhook' }))?.webhook,
  }
}

/** @returns undefined if the agent is revoked or the thing does not exist. @throws Error for any other refusal. */
async function got({ client, agent }: Actor, call: Call): Promise<Body | undefined> {
  const { status, body } = await client.ask(call, { attempts: 12 })
  if (status === 200) return body
  if (status === 404 || body.code === 'signer_revoked') return undefined
  throw new Error(`${agent.name} was told ${status} ${body.code} although the system was idle: ${JSON.stringify(call)}`)
}

interface Sender {
  readonly id: string
  readonly from: string
}

/** The ids of sent messages, each with all of its senders. */
function sendersOf(entries: readonly Entry[]): Sender[] {
  const sent = entries.flatMap((entry) =>
    entry.type === 'call' && entry.call.kind === 'send' ? [entry.call.sent] : [],
  )
  return [...new Map(sent.map(({ id, from }) => [`${id} ${from}`, { id, from }])).values()]
}

const NOTHING_LEFT = {
  recipient: null,
  position: null,
  request_position: null,
  upvotes: 0,
  hidden: false,
}

async function readAll(actor: Actor, callAfter: (after: string) => Call): Promise<Seen[]> {
  const all: Seen[] = []
  for (let after = ''; ; ) {
    const body = await got(actor, callAfter(after))
    all.push(...(body?.messages ?? []))
    if (!body?.nextCursor) return all
    after = String(body.nextCursor)
  }
}

async function readEvents(actor: Actor): Promise<Seen[]> {
  const all: Seen[] = []
  for (let after = 0; ; ) {
    const body = await got(actor, { kind: 'events', after, limit: PAGE })
    all.push(...(body?.messages ?? []))
    if (body === undefined || Number(body.nextCursor) <= after) return all
    after = Number(body.nextCursor)
  }
}

async function readSchemas(
  sql: postgres.TransactionSql<{ bigint: bigint }>,
  ids: string[],
  sent: readonly Sender[],
): Promise<Omit<Final, 'agents' | 'boards'>> {
  const messages = await sql<StoredMessage[]>`
    select id, sender, recipient, lane, position::int, request_position::int, upvotes, hidden, false as purged
    from messaging.messages where sender = any (${ids})`
  const taken = await sql<{ id: string; sender: string; lane: string }[]>`
    select u.id, u.sender, (array['inbox', 'requests', 'board'])[(i.place & 3)::integer + 1] as lane
    from unnest(${sent.map(({ id }) => id)}::text[], ${sent.map(({ from }) => from)}::text[]) u (id, sender),
      messaging.id_secret s, messaging.ids i
    where i.key = messaging.id_key(u.id, s.secret)
      and i."check" & 16777215 = messaging.id_check('', u.sender, s.secret) & 16777215`
  const live = new Set(messages.map(({ id }) => id))
  const purged = taken.filter(({ id }) => !live.has(id)).map((row) => ({ ...NOTHING_LEFT, ...row, purged: true }))
  const entries = await sql<StoredEntry[]>`
    select e.log, e.kind, e.position::int, m.id as message
    from messaging.entries e join messaging.messages m on m.place = e.message
    where e.log = any (${ids}) order by e.log, e.position`
  const heads = await sql<
    { id: string; head: number }[]
  >`select id, head::int from messaging.logs where id = any (${ids})`
  const votes = await sql<{ message: string; voter: string }[]>`
    select m.id as message, v.voter
    from messaging.votes v join messaging.messages m on m.place = v.message where v.voter = any (${ids})`
  const charges = await sql<StoredCharge[]>`
    select operation, state, agent_id, units::int, credits::int, introduces, introduction_peer, day::text
    from budget.reservations where agent_id = any (${ids})`
  const days = await sql<Final['days'][number][]>`
    select agent_id, day::text, used_units::int as used, used_introductions::int as introductions,
      credits_drawn::int as drawn
    from budget.accounts where agent_id = any (${ids}) and day > '-infinity'
    union all
    select agent_id, day::text, used_units::int, used_introductions::int, credits_drawn::int
    from budget.past_days where agent_id = any (${ids})`
  const accounts = await sql<Final['accounts'][number][]>`
    select a.agent_id, a.credit_balance::int as credits,
      coalesce((select sum(g.units) from budget.grants g where g.agent_id = a.agent_id), 0)::int as granted
    from budget.accounts a where a.agent_id = any (${ids})`
  const introductions = await sql<Final['introductions'][number][]>`
    select agent_id, peer, day::text, settled from budget.introductions where agent_id = any (${ids})`
  const committed = await sql<{ id: string }[]>`
    select id from messaging.operations where committed
    union all select id from identity.operations where committed
    union all select id from boards.operations where committed
    union all select id from webhook.operations where committed`
  const memberships = await sql<Final['memberships'][number][]>`
    select board_id, agent_id, role from boards.memberships where agent_id = any (${ids})`
  const owned = await sql<Final['owned'][number][]>`select id, owner from boards.boards where owner = any (${ids})`
  return {
    messages: [...messages, ...purged],
    entries,
    heads: Object.fromEntries(heads.map(({ id, head }) => [id, head])),
    votes,
    charges,
    days,
    accounts,
    introductions,
    committed: committed.map(({ id }) => id),
    memberships,
    owned,
  }
}
