import { type Batcher, createBatcher } from '@svc/batching/batcher.ts'
import { MAX_RATE_REPORTS, type RateLimitName } from '@svc/contracts/gateway.ts'
import { LRUCache } from 'lru-cache'
import { judgeRequest, levelOf, type Rate } from './domain/gcra.ts'
import { keeperOf } from './domain/keeper.ts'
import {
  type Bucket,
  createBucket,
  creditOf,
  giveUp,
  keepReport,
  onCredit,
  type Report,
  type Settlement,
  settle,
  takeAsKeeper,
  takeOnCredit,
  takeReport,
} from './domain/shared-bucket.ts'
import { cachedEntries } from './http-metrics.ts'

/** Counts requests by client, over all gateways together, and says when one is too many. Source: spec 3.15. */
export interface RateLimiter {
  /**
   * @returns 0 where the request is admitted, else whole seconds to wait, at least 1, for `Retry-After`. A promise of it only
   *   where another gateway must be asked, which for most requests of most clients is never; it does not reject.
   */
  take(client: string): number | Promise<number>
}

export interface ReportOf extends Report {
  readonly client: string
}

/** The gateways of a deployment, this one among them, and how it talks to the others. */
export interface Gateways {
  readonly self: string
  /** Those that are there, as far as is known; another array whenever they change. */
  readonly all: readonly string[]
  /** Tells another one. @returns a settlement for each report. @throws where it does not answer in time. */
  report(keeper: string, limit: RateLimitName, reports: readonly ReportOf[]): Promise<readonly Settlement[]>
  /** What others tell this one goes to `keep`. */
  onReport(limit: RateLimitName, keep: (report: ReportOf) => Settlement): void
  /** Calls back when one came or went. */
  onChange(changed: () => void): void
}

/** Time as spans; nothing here asks what time it is. */
export interface Clock {
  now(): number
  after(ms: number, run: () => void): void
}

export interface RateLimiterOptions {
  readonly limit: RateLimitName
  /** The same for all gateways. */
  readonly rate: Rate
  readonly gateways: Gateways
  readonly clock?: Clock
}

/**
 * Clients that are remembered at most. Past that the one seen longest ago is forgotten, which gives it a full bucket: to gain
 * from that, a client must come from this many addresses, and could as well use each one's own allowance.
 */
const MAX_CLIENTS = 100_000
/** A keeper learns of what was taken on credit this late at most, and at once when half of the credit is used. */
const REPORT_INTERVAL_MS = 50
/** Clients whose report waits to be sent at most, for each keeper; past that they are judged here alone. Also those handed over. */
const MAX_REPORTS_WAITING = 10_000

const MONOTONIC: Clock = {
  now: () => performance.now(),
  after: (ms, run) => void setTimeout(run, ms).unref(),
}

interface Client extends Bucket {
  readonly key: string
  /** Who keeps the bucket while these are the gateways. */
  keeper: string
  gateways: readonly string[] | undefined
  /** Requests that wait for the keeper, those of the report under way first. */
  waiting: ((retryAfterSeconds: number) => void)[]
  isQueued: boolean
  isUnhurried: boolean
}

export function createRateLimiter({ limit, rate, gateways, clock = MONOTONIC }: RateLimiterOptions): RateLimiter {
  const clients = new LRUCache<string, Client>({ max: MAX_CLIENTS })
  const queues = new Map<string, Batcher<Client, void>>()
  /** Used some credit, little enough that the keeper need not know at once. */
  let unhurried: Client[] = []
  cachedEntries.read(() => [[{ cache: limit }, clients.size]])
  gateways.onReport(limit, keep)
  gateways.onChange(handOver)
  return { take }

  function take(key: string): number | Promise<number> {
    const client = clientOf(key)
    const nowMs = clock.now()
    if (keeperFor(client) === gateways.self) return secondsOf(takeAsKeeper(client, nowMs, rate))

    const credit = creditOf(rate, gateways.all.length)
    const verdict = takeOnCredit(client, nowMs, rate, credit)
    if (verdict !== 'ask') {
      if (verdict === 0) hasTaken(client, credit)
      return secondsOf(verdict)
    }
    return new Promise((resolve) => {
      client.waiting.push(resolve)
      enqueue(client)
    })
  }

  function clientOf(key: string): Client {
    const known = clients.get(key)
    if (known !== undefined) return known
    const bucket = createBucket(clock.now())
    const client = { ...bucket, key, keeper: '', gateways: undefined, waiting: [], isQueued: false, isUnhurried: false }
    clients.set(key, client)
    return client
  }

  function keeperFor(client: Client): string {
    if (client.gateways !== gateways.all) {
      client.gateways = gateways.all
      client.keeper = keeperOf(client.key, gateways.all)
    }
    return client.keeper
  }

  function keep({ client, ...report }: ReportOf): Settlement {
    return keepReport(clientOf(client), report, clock.now(), rate)
  }

  function hasTaken(client: Client, credit: number): void {
    if (onCredit(client) * 2 >= credit) enqueue(client)
    else reportLater(client)
  }

  function reportLater(client: Client): void {
    if (client.isUnhurried) return
    client.isUnhurried = true
    if (unhurried.length === 0) clock.after(REPORT_INTERVAL_MS, reportUnhurried)
    unhurried.push(client)
  }

  function reportUnhurried(): void {
    const all = unhurried
    unhurried = []
    for (const client of all) {
      client.isUnhurried = false
      if (client.taken > 0) enqueue(client)
    }
  }

  /** Buckets that another gateway keeps from now on: it is told what is known here, those of the last clients first. */
  function handOver(): void {
    let looked = 0
    for (const client of clients.values()) {
      looked += 1
      if (looked > MAX_REPORTS_WAITING) return
      const before = client.keeper
      if (keeperFor(client) !== before && levelOf(client.fullAtMs, clock.now(), rate) >= 1) enqueue(client)
    }
  }

  /** A client has one report under way at a time; what comes meanwhile goes into the next. */
  function enqueue(client: Client): void {
    if (client.isQueued || client.underWay !== undefined) return
    const keeper = keeperFor(client)
    if (keeper === gateways.self) {
      judgeHere(client)
      return
    }
    client.isQueued = true
    queueOf(keeper)(client).catch(() => judgeHere(client))
  }

  function queueOf(keeper: string): Batcher<Client, void> {
    const known = queues.get(keeper)
    if (known !== undefined) return known
    for (const other of queues.keys()) if (!gateways.all.includes(other)) queues.delete(other)
    const queue = createBatcher<Client, void>({
      run: (batch) => report(keeper, batch),
      maxItems: MAX_RATE_REPORTS,
      maxWaiting: MAX_REPORTS_WAITING,
      turn: 'loop',
    })
    queues.set(keeper, queue)
    return queue
  }

  async function report(keeper: string, batch: readonly Client[]): Promise<undefined[]> {
    const reports = batch.map((client) => {
      client.isQueued = false
      return { client: client.key, ...takeReport(client, clock.now(), rate) }
    })
    const settlements = await gateways.report(keeper, limit, reports).catch(() => undefined)
    batch.forEach((client, at) => {
      const settlement = settlements?.[at]
      if (settlement === undefined) wentUnanswered(client)
      else wasSettled(client, settlement)
    })
    return batch.map(() => undefined)
  }

  function wasSettled(client: Client, settlement: Settlement): void {
    const asked = client.underWay?.asked ?? 0
    settle(client, settlement, clock.now(), rate)
    answer(client, settlement.granted, asked)
    if (client.asked > 0) enqueue(client)
    else if (client.taken > 0) hasTaken(client, creditOf(rate, gateways.all.length))
  }

  function wentUnanswered(client: Client): void {
    const asked = client.underWay?.asked ?? 0
    giveUp(client)
    answer(client, asked, asked)
    if (client.asked > 0) enqueue(client)
    else reportLater(client)
  }

  /** The keeper was not asked: it is this gateway now, or too many wait for it. */
  function judgeHere(client: Client): void {
    const { asked } = client
    client.isQueued = false
    client.asked = 0
    client.taken += asked
    answer(client, asked, asked)
  }

  /** Lets go of those that have waited longest. */
  function answer(client: Client, granted: number, asked: number): void {
    if (asked === 0) return
    const { waitMs } = judgeRequest(client.fullAtMs, clock.now(), rate)
    client.waiting.splice(0, asked).forEach((resolve, at) => {
      resolve(at < granted ? 0 : Math.max(1, secondsOf(waitMs)))
    })
  }
}

function secondsOf(waitMs: number): number {
  return Math.ceil(waitMs / 1000)
}
