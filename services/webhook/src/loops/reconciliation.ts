import { acceptedSubject } from '@svc/contracts/accepted.ts'
import type { CallContext, RequestOf } from '@svc/contracts/define.ts'
import { ARRIVALS_MAX, HEADS_MAX, listArrivals, listHeads, readArrivals } from '@svc/contracts/messaging.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import type { Bus } from '@svc/nats/bus.ts'
import type { Database } from '@svc/postgres/database.ts'
import { type Loop, startLoop } from '@svc/service/loop.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import { type InboxEvent, parseInboxEvent } from '../domain/accepted-event.ts'
import type { Backoff } from '../domain/schedule.ts'
import { madeUp } from '../metrics.ts'
import {
  type Advance,
  advance,
  beginTurn,
  endTurn,
  findMissing,
  type JobKey,
  listPositions,
  type Position,
} from '../store/reconciliation.ts'

interface Reconciliation {
  /** Processes the page that is due. @returns whether a page was due; if so, more may be due. */
  turn(signal: AbortSignal): Promise<boolean>
}

interface ReconciliationOptions {
  database: Database
  bus: Bus
  logger: Logger
  backoff: Backoff
  /** Interval between two complete rounds. */
  intervalSeconds: number
  /** Called when jobs were made. */
  made: () => void
}

/** Longest time until the next check whether a page is due. */
const MAX_INTERVAL_MS = 1_000
const MS_PER_SECOND = 1_000
/** A process that dies during a turn delays the others for this long. */
const LEASE_SECONDS = 30
/** No pass of a turn starts later than this. */
const TURN_MS = 5_000
const CALL_TIMEOUT_MS = 3_000
/** JSON without insignificant white space never contains it. */
const SEPARATOR = '\t'

/** An agent whose log extends beyond its position. */
interface Behind extends Position {
  readonly head: number
}

interface Entry extends JobKey {
  readonly agentId: string
  readonly cursor: number
}

/** Compares jobs with the logs, page by page. Safe on any number of processes: one of them holds the lease of the page. */
export function startReconcile(reconciliation: Reconciliation, logger: Logger, intervalSeconds: number): Loop {
  return startLoop({
    name: 'reconcile',
    logger,
    intervalMs: Math.min(intervalSeconds * MS_PER_SECOND, MAX_INTERVAL_MS),
    run: (signal) => reconciliation.turn(signal),
  })
}

/**
 * Makes the jobs that JetStream forgot. Compares each agent's inbox entries after its position with its jobs, and makes
 * those that are missing. The positions of a log become visible in order, so entries below a position cannot change
 * (docs/adr/0013-lost-events-are-read-from-the-logs.md).
 */
export function createReconciliation(options: ReconciliationOptions): Reconciliation {
  const { database, bus, logger, backoff, intervalSeconds, made } = options

  return {
    async turn(signal) {
      const turn = await database.run((sql) => beginTurn(sql, LEASE_SECONDS))
      if (turn === undefined) return false
      // If the turn fails, the page is free for any process at once.
      let end = { place: turn.place, complete: false }
      try {
        end = await lookAtPage(turn.place, signal)
      } finally {
        await database.run((sql) => endTurn(sql, turn, { ...end, intervalSeconds }))
      }
      return true
    },
  }

  async function lookAtPage(after: string, signal: AbortSignal): Promise<{ place: string; complete: boolean }> {
    const page = await database.run((sql) => listPositions(sql, after, HEADS_MAX))
    const behind = await findBehind(page)
    const chosen = behind.slice(0, ARRIVALS_MAX.logs)
    const complete = await catchUp(chosen, signal)
    const last = chosen.length < behind.length ? chosen.at(-1) : page.length === HEADS_MAX ? page.at(-1) : undefined
    return { place: last?.agentId ?? '', complete }
  }

  /**
   * Finds the agents that are behind. Endpoints that were never compared start at the present head of their log. A
   * position above the head means that the log was restored to an earlier moment and reuses positions, so such an
   * endpoint starts at the head too.
   */
  async function findBehind(page: readonly Position[]): Promise<Behind[]> {
    if (page.length === 0) return []
    const { logs } = await bus.call(listHeads, { agent_ids: page.map(({ agentId }) => agentId) }, context())
    const all = page.map((one, at) => ({ ...one, head: logs[at]?.head ?? 0 }))
    const anew = all.filter(({ position, head }) => position < 0 || position > head)
    if (anew.length > 0)
      await advance(
        database,
        anew.map((one) => ({ ...one, to: one.head })),
        [],
        backoff,
      )
    return all.filter(({ position, head }) => position >= 0 && position < head)
  }

  /** @returns whether every agent has caught up with the head of its log. */
  async function catchUp(behind: readonly Behind[], signal: AbortSignal): Promise<boolean> {
    const until = performance.now() + TURN_MS
    let left = behind
    let complete = true
    while (left.length > 0) {
      if (signal.aborted || performance.now() > until) return false
      const positions = await pass(left)
      // If another process was faster, or a webhook was replaced, the next round continues.
      complete &&= positions.size === left.length
      const unfinished = left.filter(({ agentId, head }) => (positions.get(agentId) ?? head) < head)
      // Agents whose entries did not fit into this pass go first in the next one.
      const hasStayed = ({ agentId, position }: Behind): boolean => positions.get(agentId) === position
      left = [...unfinished.filter(hasStayed), ...unfinished.filter((one) => !hasStayed(one))].map((one) => ({
        ...one,
        position: positions.get(one.agentId) ?? one.position,
      }))
    }
    return complete
  }

  /**
   * Examines some entries of each agent, and raises its position past entries that have a job or need none.
   * @returns the new positions, without those that were changed concurrently.
   */
  async function pass(behind: readonly Behind[]): Promise<Map<string, number>> {
    const asked = behind.map(({ agentId, position }) => ({ agent_id: agentId, after: position }))
    const { logs } = await bus.call(listArrivals, { logs: asked }, context())
    const entries = behind.map(({ agentId, configuration }, at) =>
      (logs[at]?.entries ?? []).map(({ cursor, message_id: messageId }) => ({
        agentId,
        configuration,
        cursor,
        messageId,
      })),
    )
    const missing = await database.run((sql) => findMissing(sql, takeTurns(entries)))
    const { events, lookedAt } = await read(missing.slice(0, ARRIVALS_MAX.read))
    const open = new Map<string, number>()
    for (const { agentId, cursor } of missing.slice(lookedAt)) {
      open.set(agentId, Math.min(cursor, open.get(agentId) ?? cursor))
    }
    const advances = behind.map((one, at): Advance => {
      const to = Math.min(logs[at]?.through ?? 0, (open.get(one.agentId) ?? Number.POSITIVE_INFINITY) - 1)
      return { ...one, to: Math.max(to, one.position) }
    })
    failpoint('webhook.compared')
    const { agentIds, jobs } = await advance(database, advances, events, backoff)
    failpoint('webhook.reconciled')
    if (jobs > 0) {
      madeUp.add({}, jobs)
      // Under load, some of these events are still on their way. Waiting for them would delay every round.
      logger.info({ jobs }, 'jobs were made from the logs: JetStream has lost their events or not delivered them yet')
      made()
    }
    return new Map(advances.filter(({ agentId }) => agentIds.has(agentId)).map(({ agentId, to }) => [agentId, to]))
  }

  async function read(missing: readonly Entry[]): Promise<{ events: InboxEvent[]; lookedAt: number }> {
    if (missing.length === 0) return { events: [], lookedAt: 0 }
    const request: RequestOf<typeof readArrivals> = {
      entries: missing.map(({ agentId, cursor }) => ({ agent_id: agentId, cursor })),
    }
    const { meta, text } = await bus.callText(readArrivals, request, context())
    const texts = text.split(SEPARATOR)
    const events = meta.found.flatMap((index, at) => parse(missing[index]?.agentId ?? '', texts[at] ?? '') ?? [])
    return { events, lookedAt: meta.looked_at }
  }

  function parse(agentId: string, text: string): InboxEvent | undefined {
    try {
      return parseInboxEvent(acceptedSubject(agentId, 'inbox'), text)
    } catch (error) {
      // The writer has broken the contract. Waiting for a mended entry would hold up all later ones.
      logger.error({ err: error }, 'an entry of a log cannot be read: it breaks its contract')
      return undefined
    }
  }
}

/**
 * Takes the first item of each list, then the second of each, and so on, so that cutting off the end is fair to all
 * lists.
 */
export function takeTurns<T>(lists: readonly (readonly T[])[]): T[] {
  const longest = Math.max(0, ...lists.map(({ length }) => length))
  return Array.from({ length: longest }, (_, at) => lists.flatMap((list) => list.slice(at, at + 1))).flat()
}

function context(): CallContext {
  return { traceparent: newTraceparent(), deadlineMs: Date.now() + CALL_TIMEOUT_MS }
}
