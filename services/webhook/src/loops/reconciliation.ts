import { acceptedSubject } from '@svc/contracts/accepted.ts'
import type { CallContext, RequestOf } from '@svc/contracts/define.ts'
import { ARRIVALS_MAX, listArrivals, listMoved, MOVED_MAX, readArrivals } from '@svc/contracts/messaging.ts'
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
  beginPage,
  endPage,
  findConfigurations,
  findMissing,
  type JobKey,
  listPositions,
  type Position,
} from '../store/reconciliation.ts'

interface ReconciliationOptions {
  database: Database
  bus: Bus
  logger: Logger
  backoff: Backoff
  /** Time from the start of a complete round to the start of the next one. */
  intervalSeconds: number
  /** Called when jobs were made. */
  made: () => void
}

/** The loop checks at least this often whether a page is due. */
const MAX_INTERVAL_MS = 500
const MS_PER_SECOND = 1_000
/** A process that dies during a page delays the others for this long. */
const LEASE_SECONDS = 10
/** No pass over a page starts later than this. */
const PAGE_MS = 5_000
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
export function startReconcile(options: ReconciliationOptions): Loop {
  const reconciliation = new Reconciliation(options)
  return startLoop({
    name: 'reconcile',
    logger: options.logger,
    intervalMs: Math.min(options.intervalSeconds * MS_PER_SECOND, MAX_INTERVAL_MS),
    run: (signal) => reconciliation.compareDuePage(signal),
  })
}

/**
 * Makes the jobs whose events JetStream has lost. Compares each agent's inbox entries after its position with its jobs, and makes
 * those that are missing. The positions of a log become visible in order, so entries below a position cannot change
 * (docs/adr/0013-lost-events-are-read-from-the-logs.md).
 */
class Reconciliation {
  readonly #options: ReconciliationOptions

  constructor(options: ReconciliationOptions) {
    this.#options = options
  }

  /** @returns whether a page was due; if so, more may be due. */
  async compareDuePage(signal: AbortSignal): Promise<boolean> {
    const { database, intervalSeconds } = this.#options
    const page = await database.run((sql) => beginPage(sql, LEASE_SECONDS))
    if (page === undefined) return false
    // If this fails, the page is free for any process at once.
    let end = { place: page.place, complete: false }
    try {
      end = await this.#comparePage(page.place, signal)
    } finally {
      await database.run((sql) => endPage(sql, page, { ...end, intervalSeconds }))
    }
    return true
  }

  async #comparePage(after: string, signal: AbortSignal): Promise<{ place: string; complete: boolean }> {
    const { database } = this.#options
    const { agentIds, cursors } = await database.run((sql) => listPositions(sql, after, MOVED_MAX))
    const behind = agentIds.length === 0 ? [] : await this.#findBehind(agentIds, cursors)
    const untilMs = performance.now() + PAGE_MS
    let complete = true
    let compared = 0
    while (compared < behind.length && performance.now() < untilMs && !signal.aborted) {
      const some = behind.slice(compared, compared + ARRIVALS_MAX.logs)
      complete = (await this.#catchUp(some, untilMs, signal)) && complete
      compared += some.length
    }
    if (compared < behind.length) return { place: behind[compared - 1]?.agentId ?? after, complete }
    return { place: agentIds.length === MOVED_MAX ? (agentIds.at(-1) ?? '') : '', complete }
  }

  /**
   * Finds the agents whose logs extend beyond their positions. A position above the head means that the log was restored to an
   * earlier moment and reuses positions, so such an agent continues at the head.
   */
  async #findBehind(agentIds: readonly string[], cursors: readonly number[]): Promise<Behind[]> {
    const { database, bus, backoff } = this.#options
    const { moved } = await bus.call(listMoved, { agent_ids: [...agentIds], heads: [...cursors] }, context())
    const ids = moved.map(({ index }) => agentIds[index] ?? '')
    const configurations = await database.run((sql) => findConfigurations(sql, ids))
    const found = moved.flatMap(({ index, head }, at) => {
      const agentId = ids[at] ?? ''
      const configuration = configurations.get(agentId)
      return configuration === undefined ? [] : [{ agentId, configuration, position: cursors[index] ?? 0, head }]
    })
    const restored = found.filter(({ position, head }) => position > head)
    if (restored.length > 0) {
      const toHead = restored.map((one) => ({ ...one, to: one.head }))
      await advance(database, toHead, [], backoff)
    }
    return found.filter(({ position, head }) => position < head)
  }

  /** @returns whether every agent has caught up with the head of its log. */
  async #catchUp(behind: readonly Behind[], untilMs: number, signal: AbortSignal): Promise<boolean> {
    let left = behind
    let complete = true
    while (left.length > 0) {
      if (signal.aborted || performance.now() > untilMs) return false
      const positions = await this.#raisePositions(left)
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
   * Compares some entries of each agent, and raises its position past entries that have a job or need none.
   * @returns the new positions, without those that were changed concurrently.
   */
  async #raisePositions(behind: readonly Behind[]): Promise<Map<string, number>> {
    const { database, bus, backoff } = this.#options
    const asked = behind.map(({ agentId, position }) => ({ agent_id: agentId, after: position }))
    const { logs } = await bus.call(listArrivals, { logs: asked }, context())
    const entries = behind.map(({ agentId, configuration }, at) =>
      (logs[at]?.entries ?? []).map(({ cursor, message_id }) => ({
        agentId,
        configuration,
        cursor,
        messageId: message_id,
      })),
    )
    const missing = await database.run((sql) => findMissing(sql, alternate(entries)))
    const { events, lookedAt } = await this.#readEvents(missing.slice(0, ARRIVALS_MAX.read))
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
    if (jobs > 0) this.#reportMade(jobs)
    return new Map(advances.filter(({ agentId }) => agentIds.has(agentId)).map(({ agentId, to }) => [agentId, to]))
  }

  #reportMade(jobs: number): void {
    const { logger, made } = this.#options
    madeUp.add({}, jobs)
    // Under load, some of these events are still on their way. Waiting for them would delay every round.
    logger.info({ jobs }, 'jobs were made from the logs: JetStream has lost their events or not delivered them yet')
    made()
  }

  /** @returns the events of the first entries, and how many entries it has covered. Expired messages have no event. */
  async #readEvents(missing: readonly Entry[]): Promise<{ events: InboxEvent[]; lookedAt: number }> {
    if (missing.length === 0) return { events: [], lookedAt: 0 }
    const request: RequestOf<typeof readArrivals> = {
      entries: missing.map(({ agentId, cursor }) => ({ agent_id: agentId, cursor })),
    }
    const { meta, text } = await this.#options.bus.callText(readArrivals, request, context())
    const texts = text.split(SEPARATOR)
    const events = meta.found.flatMap((index, at) => this.#parse(missing[index]?.agentId ?? '', texts[at] ?? '') ?? [])
    return { events, lookedAt: meta.looked_at }
  }

  #parse(agentId: string, text: string): InboxEvent | undefined {
    try {
      return parseInboxEvent(acceptedSubject(agentId, 'inbox'), text)
    } catch (error) {
      // The writer has broken the contract. Waiting for a mended entry would hold up all later ones.
      this.#options.logger.error({ err: error }, 'an entry of a log cannot be read: it breaks its contract')
      return undefined
    }
  }
}

/**
 * Takes the first item of each list, then the second of each, and so on, so that cutting off the end is fair to all
 * lists.
 */
export function alternate<T>(lists: readonly (readonly T[])[]): T[] {
  const longest = Math.max(0, ...lists.map(({ length }) => length))
  return Array.from({ length: longest }, (_, at) => lists.flatMap((list) => list.slice(at, at + 1))).flat()
}

function context(): CallContext {
  return { traceparent: newTraceparent(), deadlineMs: Date.now() + CALL_TIMEOUT_MS }
}
