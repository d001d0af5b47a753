import { type Batcher, createBatcher } from '@svc/batching/batcher.ts'
import { MAX_RATE_REPORTS, type RateLimitName } from '@svc/contracts/gateway.ts'
import { LRUCache } from 'lru-cache'
import { cachedEntries } from '../metrics.ts'
import { judgeRequest, levelOf, type Rate } from './gcra.ts'
import { keeperOf } from './keeper.ts'
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
} from './shared-bucket.ts'

/** Limits the requests of each client, counted over all gateways together. Source: spec 3.15. */
export interface RateLimiter {
  /**
   * @returns 0 if the request is admitted, else whole seconds to wait, at least 1, for `Retry-After`. It is a promise only if
   *   another gateway must be asked, which most clients never need. The promise does not reject.
   */
  take(client: string): number | Promise<number>
}

export interface ReportOf extends Report {
  readonly client: string
}

/** The gateways of a deployment, including this one, and the messages between this gateway and the others. */
export interface Gateways {
  readonly self: string
  /** The gateways known to be running. A new array whenever they change. */
  readonly all: readonly string[]
  /** Sends reports to another gateway. @returns a settlement for each report. @throws if it does not answer in time. */
  report(keeper: string, limit: RateLimitName, reports: readonly ReportOf[]): Promise<readonly Settlement[]>
  /** Passes each report that another gateway sends to this one to `keep`. */
  onReport(limit: RateLimitName, keep: (report: ReportOf) => Settlement): void
  /** Calls back when a gateway has joined or left. */
  onChange(changed: () => void): void
}

/** A monotonic clock: it measures durations and does not know the time of day. */
interface Clock {
  now(): number
  after(ms: number, run: () => void): void
}

interface RateLimiterOptions {
  readonly limit: RateLimitName
  /** All gateways must have the same rate. */
  readonly rate: Rate
  readonly gateways: Gateways
  readonly clock?: Clock
}

/**
 * Maximum number of clients in memory. Past that, the client seen longest ago is forgotten and so gets a full bucket. To exploit
 * that, an attacker needs this many addresses, and each of those has an allowance of its own anyway.
 */
const MAX_CLIENTS = 100_000
/** A keeper learns of requests taken on credit at most this late, or at once when half of the credit is used. */
const REPORT_INTERVAL_MS = 50
/**
 * Maximum number of clients, for each keeper, whose report waits to be sent. Past that, this gateway judges a client
 * alone. Also the maximum number of clients to examine for a handover when the gateways change.
 */
const MAX_REPORTS_WAITING = 10_000

const MONOTONIC: Clock = {
  now: () => performance.now(),
  after: (ms, run) => void setTimeout(run, ms).unref(),
}

interface Client extends Bucket {
  readonly key: string
  /** The gateway that keeps the bucket, valid while `gateways` is still the current array. */
  keeper: string
  gateways: readonly string[] | undefined
  /** Requests that wait for the keeper, starting with those of the report that is being sent. */
  waiting: ((retryAfterSeconds: number) => void)[]
  isQueued: boolean
  isUnhurried: boolean
}

export function createRateLimiter({ limit, rate, gateways, clock = MONOTONIC }: RateLimiterOptions): RateLimiter {
  const clients = new LRUCache<string, Client>({ max: MAX_CLIENTS })
  const queues = new Map<string, Batcher<Client, void>>()
  /** Clients that have used less than half of their credit, so the keeper can learn of it later. */
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

  /** Reports buckets that now have another keeper to that keeper, starting with the clients seen most recently. */
  function handOver(): void {
    let looked = 0
    for (const client of clients.values()) {
      looked += 1
      if (looked > MAX_REPORTS_WAITING) return
      const before = client.keeper
      if (keeperFor(client) !== before && levelOf(client.fullAtMs, clock.now(), rate) >= 1) enqueue(client)
    }
  }

  /** Each client has at most one report in flight. Requests that arrive in the meantime go into the next one. */
  function enqueue(client: Client): void {
    if (client.isQueued || client.underWay !== undefined) return
    const keeper = keeperFor(client)
    if (keeper === gateways.self) {
      judgeHere(client)
      return
    }
    client.isQueued = true
    // The promise rejects only if the queue is full, because a report never fails. Then judge the client's requests here.
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
    // gateways.ts logs why there are no settlements.
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

  /** Admits without asking: either this gateway is now the keeper, or too many reports wait for the keeper. */
  function judgeHere(client: Client): void {
    const { asked } = client
    client.isQueued = false
    client.asked = 0
    client.taken += asked
    answer(client, asked, asked)
  }

  /** Answers the requests that have waited longest. */
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
