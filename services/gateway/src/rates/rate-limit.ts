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

/** Limits the requests of each client, counted over all gateways together. Source: spec 3.15. */
export class RateLimiter {
  readonly #limit: RateLimitName
  readonly #rate: Rate
  readonly #gateways: Gateways
  readonly #clock: Clock
  readonly #clients = new LRUCache<string, Client>({ max: MAX_CLIENTS })
  readonly #queues = new Map<string, Batcher<Client, void>>()
  /** Clients that have used less than half of their credit, so the keeper can learn of it later. */
  #unhurried: Client[] = []

  constructor({ limit, rate, gateways, clock = MONOTONIC }: RateLimiterOptions) {
    this.#limit = limit
    this.#rate = rate
    this.#gateways = gateways
    this.#clock = clock
    cachedEntries.read(() => [[{ cache: limit }, this.#clients.size]])
    gateways.onReport(limit, (report) => this.#keepReport(report))
    gateways.onChange(() => this.#handOver())
  }

  /**
   * @returns 0 if the request is admitted, else whole seconds to wait, at least 1, for `Retry-After`. It is a promise only if
   *   another gateway must be asked, which most clients never need. The promise does not reject.
   */
  takeRequest(key: string): number | Promise<number> {
    const client = this.#clientOf(key)
    const nowMs = this.#clock.now()
    if (this.#keeperFor(client) === this.#gateways.self) return secondsOf(takeAsKeeper(client, nowMs, this.#rate))

    const credit = creditOf(this.#rate, this.#gateways.all.length)
    const verdict = takeOnCredit(client, nowMs, this.#rate, credit)
    if (verdict !== 'ask') {
      if (verdict === 0) this.#noteTaken(client, credit)
      return secondsOf(verdict)
    }
    return new Promise((resolve) => {
      client.waiting.push(resolve)
      this.#enqueueReport(client)
    })
  }

  #clientOf(key: string): Client {
    const known = this.#clients.get(key)
    if (known !== undefined) return known
    const bucket = createBucket(this.#clock.now())
    const client = { ...bucket, key, keeper: '', gateways: undefined, waiting: [], isQueued: false, isUnhurried: false }
    this.#clients.set(key, client)
    return client
  }

  #keeperFor(client: Client): string {
    if (client.gateways !== this.#gateways.all) {
      client.gateways = this.#gateways.all
      client.keeper = keeperOf(client.key, this.#gateways.all)
    }
    return client.keeper
  }

  #keepReport({ client, ...report }: ReportOf): Settlement {
    return keepReport(this.#clientOf(client), report, this.#clock.now(), this.#rate)
  }

  #noteTaken(client: Client, credit: number): void {
    if (onCredit(client) * 2 >= credit) this.#enqueueReport(client)
    else this.#reportLater(client)
  }

  #reportLater(client: Client): void {
    if (client.isUnhurried) return
    client.isUnhurried = true
    if (this.#unhurried.length === 0) this.#clock.after(REPORT_INTERVAL_MS, () => this.#reportUnhurried())
    this.#unhurried.push(client)
  }

  #reportUnhurried(): void {
    const all = this.#unhurried
    this.#unhurried = []
    for (const client of all) {
      client.isUnhurried = false
      if (client.taken > 0) this.#enqueueReport(client)
    }
  }

  /** Reports buckets that now have another keeper to that keeper, starting with the clients seen most recently. */
  #handOver(): void {
    let looked = 0
    for (const client of this.#clients.values()) {
      looked += 1
      if (looked > MAX_REPORTS_WAITING) return
      const before = client.keeper
      if (this.#keeperFor(client) !== before && levelOf(client.fullAtMs, this.#clock.now(), this.#rate) >= 1)
        this.#enqueueReport(client)
    }
  }

  /** Each client has at most one report in flight. Requests that arrive in the meantime go into the next one. */
  #enqueueReport(client: Client): void {
    if (client.isQueued || client.underWay !== undefined) return
    const keeper = this.#keeperFor(client)
    if (keeper === this.#gateways.self) {
      this.#judgeHere(client)
      return
    }
    client.isQueued = true
    // The promise rejects only if the queue is full, because a report never fails. Then judge the client's requests here.
    this.#queueOf(keeper)(client).catch(() => this.#judgeHere(client))
  }

  #queueOf(keeper: string): Batcher<Client, void> {
    const known = this.#queues.get(keeper)
    if (known !== undefined) return known
    for (const other of this.#queues.keys()) if (!this.#gateways.all.includes(other)) this.#queues.delete(other)
    const queue = createBatcher<Client, void>({
      run: (batch) => this.#sendReports(keeper, batch),
      maxItems: MAX_RATE_REPORTS,
      maxWaiting: MAX_REPORTS_WAITING,
      gathers: true,
    })
    this.#queues.set(keeper, queue)
    return queue
  }

  async #sendReports(keeper: string, batch: readonly Client[]): Promise<undefined[]> {
    const reports = batch.map((client) => {
      client.isQueued = false
      return { client: client.key, ...takeReport(client, this.#clock.now(), this.#rate) }
    })
    // gateways.ts logs why there are no settlements.
    const settlements = await this.#gateways.report(keeper, this.#limit, reports).catch(() => undefined)
    batch.forEach((client, at) => {
      const settlement = settlements?.[at]
      if (settlement === undefined) this.#wentUnanswered(client)
      else this.#wasSettled(client, settlement)
    })
    return batch.map(() => undefined)
  }

  #wasSettled(client: Client, settlement: Settlement): void {
    const asked = client.underWay?.asked ?? 0
    settle(client, settlement, this.#clock.now(), this.#rate)
    this.#answerWaiting(client, settlement.granted, asked)
    if (client.asked > 0) this.#enqueueReport(client)
    else if (client.taken > 0) this.#noteTaken(client, creditOf(this.#rate, this.#gateways.all.length))
  }

  #wentUnanswered(client: Client): void {
    const asked = client.underWay?.asked ?? 0
    giveUp(client)
    this.#answerWaiting(client, asked, asked)
    if (client.asked > 0) this.#enqueueReport(client)
    else this.#reportLater(client)
  }

  /** Admits without asking: either this gateway is now the keeper, or too many reports wait for the keeper. */
  #judgeHere(client: Client): void {
    const { asked } = client
    client.isQueued = false
    client.asked = 0
    client.taken += asked
    this.#answerWaiting(client, asked, asked)
  }

  /** Answers the requests that have waited longest. */
  #answerWaiting(client: Client, granted: number, asked: number): void {
    if (asked === 0) return
    const { waitMs } = judgeRequest(client.fullAtMs, this.#clock.now(), this.#rate)
    client.waiting.splice(0, asked).forEach((resolve, at) => {
      resolve(at < granted ? 0 : Math.max(1, secondsOf(waitMs)))
    })
  }
}

function secondsOf(waitMs: number): number {
  return Math.ceil(waitMs / 1000)
}
