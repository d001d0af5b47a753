/** A messaging service without NATS: real handlers over a real database, a budget in memory. */
import { createHash, randomBytes } from 'node:crypto'
import type { Charging, Cost, Reserved } from '@svc/charging/charging.ts'
import type { Reservation } from '@svc/charging/fences.ts'
import { createOperations } from '@svc/charging/operations.ts'
import type { CallContext } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import { chargeOfMessage } from '@svc/contracts/price.ts'
import type {
  ContactState,
  Events,
  InboxPolicy,
  Lane,
  MessageList,
  SendResult,
  Visibility,
  VoteResult,
} from '@svc/contracts/resources.ts'
import type { Publication, PublishEvents } from '@svc/nats/streams/publish-events.ts'
import { openDatabase } from '@svc/postgres/database.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import { borrowDatabase } from '@svc/test/support/engines/database.ts'
import { expireMessages } from '@svc/test/support/engines/expire-messages.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import postgres from 'postgres'
import type { Deps, SendDeps } from '../../src/deps.ts'
import type { CommittedPost } from '../../src/domain/accepted-events.ts'
import { ackMessage } from '../../src/handlers/change/ack-message.ts'
import { setContact } from '../../src/handlers/change/set-contact.ts'
import { setMailbox } from '../../src/handlers/change/set-mailbox.ts'
import { setVisibility } from '../../src/handlers/change/set-visibility.ts'
import { setVote } from '../../src/handlers/change/set-vote.ts'
import { exportMessages } from '../../src/handlers/read/export-messages.ts'
import { getMessage } from '../../src/handlers/read/get-message.ts'
import { getReceipt } from '../../src/handlers/read/get-receipt.ts'
import { listEvents } from '../../src/handlers/read/list-events.ts'
import { listInbox } from '../../src/handlers/read/list-inbox.ts'
import { listPosts } from '../../src/handlers/read/list-posts.ts'
import { sendMessage } from '../../src/handlers/send/send-message.ts'
import { purgeBatch } from '../../src/loops/purge.ts'
import { countExpired } from '../../src/store/operate/count-expired.ts'
import { createAppend } from '../../src/store/send/append.ts'
import { createAppendPosts } from '../../src/store/send/append-posts.ts'
import { createPostPreflight } from '../../src/store/send/post-preflight.ts'
import { createPreflight } from '../../src/store/send/preflight.ts'
import { createStandings } from '../../src/store/send/standings.ts'
import { createMemoryBoards } from './boards.ts'

const logger = createLogger('test', 'silent')
const SECONDS_PER_DAY = 86_400

interface Sending {
  from: string
  to: string
  id?: string
  /** Seconds; 0: none. */
  ttl?: number
  /** The age of `ts`. */
  agoSeconds?: number
  threadId?: string
  replyTo?: string
  body?: string
  /** The gateway has reserved the cost already (ADR 7). */
  reservedAhead?: boolean
}

interface ProcessOptions {
  /** Awaited between the reservation and the commit of each charge. */
  onCharge?: () => Promise<void>
  /** The retention of this process. It differs while a new setting is rolled out. */
  retentionDays?: number
}

interface Process {
  deps: Deps
  /** Removes what has expired, as the loop does in time. */
  purge(): Promise<void>
  /** `to` is an agent, or a board of `boards`. */
  send(message: Sending): Promise<SendResult & { id: string }>
  vote(agent: string, id: string, voted?: boolean): Promise<VoteResult>
  setHidden(caller: string, boardId: string, id: string, hidden: boolean): Promise<Visibility>
  setContact(owner: string, other: string, state: ContactState): Promise<void>
  setPolicy(agent: string, policy: InboxPolicy, version: number): Promise<void>
  revoke(agent: string, version: number): Promise<void>
}

export type Harness = Awaited<ReturnType<typeof startHarness>>

export async function startHarness({ retentionDays = 30 }: { retentionDays?: number } = {}) {
  const stack = new AsyncDisposableStack()
  const testDatabase = stack.use(await borrowDatabase())
  const charged: Charged[] = []
  const published: Publication[] = []
  const posted: CommittedPost[] = []
  const budget = { isDown: false }
  const boards = createMemoryBoards()
  const retentionSeconds = retentionDays * SECONDS_PER_DAY
  const first = startProcess()

  return {
    ...first,
    /** Attempts at paid operations, in order. */
    charged,
    /** Events that a committer handed over for publication, other than appends. */
    published,
    /** Posts that a committer handed over for publication. */
    posted,
    budget,
    boards,
    /** Another process on the same database. */
    startProcess,
    /** A connection as superuser, to read and change rows directly. */
    openAdmin: () => stack.adopt(postgres(testDatabase.adminUrl, { max: 1, onnotice: () => {} }), (sql) => sql.end()),
    urlFor: () => testDatabase.urlFor('messaging'),
    inbox: (agent: string, query: Partial<Parameters<typeof listInbox>[1]> = {}) => inbox(first.deps, agent, query),
    events: (agent: string, after = 0, limit = 100) => events(first.deps, agent, after, limit),
    exported: (agent: string, query: Partial<Parameters<typeof exportMessages>[1]> = {}) =>
      exported(first.deps, agent, query),
    ack: (agent: string, id: string) => ackMessage(first.deps, { agent_id: agent, id }),
    receipt: (agent: string, id: string) => getReceipt(first.deps, { agent_id: agent, id }),
    feed: (viewer: string | null, boardId: string, query: Partial<Parameters<typeof listPosts>[1]> = {}) =>
      feed(first.deps, viewer, boardId, query),
    read: async (viewer: string | null, id: string) =>
      JSON.parse((await getMessage(first.deps, { viewer, id }, contextNow())).text),
    expire: (...ids: string[]) =>
      first.deps.database.run((sql) => expireMessages(sql as unknown as postgres.Sql, ids, retentionSeconds)),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }

  function startProcess({ onCharge = async () => {}, ...own }: ProcessOptions = {}): Process {
    const retentionSeconds = (own.retentionDays ?? retentionDays) * SECONDS_PER_DAY
    const options = { url: testDatabase.urlFor('messaging'), application: 'test', logger }
    const database = stack.use(openDatabase(options))
    const charging = createMemoryCharging(charged, budget, onCharge)
    const publish: PublishEvents = (events) => void published.push(...events)
    const operations = createOperations({ database, schema: 'messaging' })
    const deps: Deps = { database, boards, charging, operations, publish, retentionDays }
    const append = createAppend({
      database,
      retentionSeconds,
      onCommitted: () => {},
    })
    const posts = {
      preflight: createPostPreflight(database),
      append: createAppendPosts({
        database,
        retentionSeconds,
        onCommitted: (committed) => void posted.push(...committed),
      }),
      boards,
      charging,
    }
    const sendDeps: SendDeps = {
      posts,
      standings: createStandings(),
      preflight: createPreflight(database),
      append,
      charging,
    }
    return {
      deps,
      async purge() {
        // A partition that is in use, for example by autovacuum, is left for the next pass.
        await eventually(async () => {
          while ((await purgeBatch(database, retentionSeconds)).more) {}
          return (await database.run((sql) => countExpired(sql, retentionSeconds))).partitions === 0
        })
      },
      send: (message) => send(sendDeps, message, boards.has(message.to)),
      vote: (agent, id, voted = true) => setVote(deps, { agent_id: agent, id, voted }, contextNow()),
      setHidden: (caller, boardId, id, hidden) =>
        setVisibility(deps, { caller, board_id: boardId, id, hidden }, contextNow()),
      async setContact(owner, other, state) {
        await setContact(deps, { agent_id: owner, other, state }, contextNow())
      },
      async setPolicy(agent, policy, version) {
        await setMailbox(deps, { agent_id: agent, policy, revoked: false, version })
      },
      async revoke(agent, version) {
        await setMailbox(deps, { agent_id: agent, policy: 'open', revoked: true, version })
      },
    }
  }
}

interface Charged {
  cost: Cost
  outcome: 'held' | 'settled' | 'released'
}

/** Behaves like libs/charging towards its callers. That library has its own tests with several processes. */
function createMemoryCharging(
  charged: Charged[],
  budget: { isDown: boolean },
  onCharge: () => Promise<void>,
): Charging {
  return {
    owner: 'messaging',
    reserve: take,
    finish,
    charge: async (cost, context, commit) => finish(await take(cost), context, commit),
    cancel: async ({ operation }) => end(operation, 'released'),
    abandon: async () => {},
  }

  async function take(cost: Cost): Promise<Reserved> {
    if (budget.isDown) throw new ServiceError('unavailable')
    charged.push({ cost, outcome: 'held' })
    await onCharge()
    return { operation: cost.operation, deadlineMs: Date.now() + 60_000, settled: false, shared: false }
  }

  async function finish<T>(
    reserved: Reserved,
    _context: CallContext,
    commit: (reservation: Reservation) => Promise<T>,
  ): Promise<T> {
    try {
      const result = await commit(reserved)
      end(reserved.operation, 'settled')
      return result
    } catch (error) {
      end(reserved.operation, 'released')
      throw error
    }
  }

  function end(operation: string, outcome: Charged['outcome']): void {
    const entry = charged.findLast(({ cost }) => cost.operation === operation)
    if (entry !== undefined) entry.outcome = outcome
  }
}

export function contextNow(): CallContext {
  return { traceparent: newTraceparent(), deadlineMs: Date.now() + 20_000 }
}

export function newId(): string {
  return randomBytes(12).toString('base64url')
}

async function send(deps: SendDeps, message: Sending, toBoard: boolean): Promise<SendResult & { id: string }> {
  const {
    from,
    to,
    id = newId(),
    ttl = 0,
    agoSeconds = 0,
    threadId,
    replyTo,
    body = 'hello',
    reservedAhead = false,
  } = message
  const envelope = JSON.stringify({ id, from, to, ttl, body })
  const digest = createHash('sha256').update(envelope).digest('hex')
  const payloadBytes = body.length + 2
  const cost = chargeOfMessage({ id, digest, sender: from, recipient: to, payloadBytes })
  const reserved = reservedAhead ? await deps.charging.reserve(cost, contextNow()) : undefined
  const result = await sendMessage(
    deps,
    {
      signer: from,
      recipient: { kind: toBoard ? 'board' : 'agent', id: to },
      facts: {
        id,
        digest,
        ts_ms: Date.now() - agoSeconds * 1000,
        ttl,
        reply_to: replyTo ?? null,
        thread_id: threadId ?? null,
        payload_bytes: payloadBytes,
      },
      envelope,
      reserved: reserved === undefined ? null : { ...reserved, deadline_ms: reserved.deadlineMs },
    },
    contextNow(),
  )
  return { ...result, id }
}

async function inbox(
  deps: Deps,
  agent: string,
  query: Partial<Parameters<typeof listInbox>[1]>,
): Promise<ReadList & { text: string }> {
  const all = { lane: 'inbox', unacked: false, thread_id: null, after: null, limit: 100 } as const
  const { text } = await listInbox(deps, { agent_id: agent, ...all, ...query })
  return { ...readList(text), text }
}

async function exported(
  deps: Deps,
  agent: string,
  query: Partial<Parameters<typeof exportMessages>[1]>,
): Promise<ReadList & { text: string }> {
  const all = { thread_id: null, after: null, limit: 100 }
  const { text } = await exportMessages(deps, { agent_id: agent, ...all, ...query }, contextNow())
  return { ...readList(text), text }
}

async function feed(
  deps: Deps,
  viewer: string | null,
  boardId: string,
  query: Partial<Parameters<typeof listPosts>[1]>,
): Promise<ReadList & { text: string }> {
  const all = { thread_id: null, after: null, limit: 100 }
  const { text } = await listPosts(deps, { viewer, board_id: boardId, ...all, ...query }, contextNow())
  return { ...readList(text), text }
}

async function events(deps: Deps, agent: string, after: number, limit: number): Promise<ReadEvents> {
  const { meta, text } = await listEvents(deps, { agent_id: agent, after, limit }, contextNow())
  const page = JSON.parse(text) as Events
  return {
    earliest: meta.earliest,
    latest: meta.latest,
    next: page.next_cursor,
    events: page.events.map(({ cursor, kind, message }) => ({
      cursor,
      kind,
      lane: message.lane,
      id: message.envelope.id,
    })),
    retentionDays: page.retention_days,
  }
}

interface ReadList {
  ids: string[]
  next: string
}

interface ReadEvents {
  earliest: number
  latest: number | undefined
  next: number
  events: { cursor: number; kind: Lane; lane: Lane; id: string }[]
  retentionDays: number
}

function readList(text: string): ReadList {
  const { messages, next_cursor } = JSON.parse(text) as MessageList
  return { ids: messages.map((message) => message.envelope.id), next: next_cursor }
}
