/**
 * One client's bucket, shared by several gateways. One gateway, the keeper (`keeper.ts`), judges exactly. Every other gateway
 * admits a few requests on credit and reports them to the keeper. Once its credit is used up, it asks the keeper first. So all
 * gateways together admit what the rate allows, plus all credits once (spec 3.15), however late messages arrive. All credits
 * together are `CREDIT_SHARE` of the burst. Gateways exchange only durations and never points in time, so their clocks may differ.
 */
import { fullAtOf, judgeRequest, levelOf, type Rate, roomOf } from './gcra.ts'

/** One gateway's knowledge of one client. */
export interface Bucket {
  /** When the bucket would be full again, by the keeper's last answer and everything taken or asked for here since. */
  fullAtMs: number
  /** Requests admitted here on credit and not yet reported to the keeper. */
  taken: number
  /** Requests that wait for the keeper's verdict and are in no report yet. */
  asked: number
  /** The report that the keeper has not answered yet. */
  underWay: Report | undefined
}

/** A report to the keeper of a bucket. */
export interface Report {
  /** Requests admitted on credit since the previous report. */
  readonly taken: number
  /** Requests for the keeper to judge. */
  readonly asked: number
  /** Requests missing from the bucket besides those above, as this gateway knows it. A new keeper may know less. */
  readonly level: number
}

/** The keeper's answer to a report. */
export interface Settlement {
  /** How many of the requests asked for are admitted. */
  readonly granted: number
  /** Requests missing from the bucket now. */
  readonly level: number
}

/** Share of the burst that all gateways together may admit before the keeper knows. Spec 3.15 allows 1.2 bursts, so 20 %. */
export const CREDIT_SHARE = 0.2

/**
 * A level is reported as if the bucket had already refilled for this long. A level that was right when sent is too high when it
 * arrives. Without this correction, a level that two gateways keep exchanging would never fall. The price: a gateway that has
 * just become the keeper may admit up to this much refill too much.
 */
const REPORT_AGE_MS = 250

export function createBucket(nowMs: number): Bucket {
  return { fullAtMs: nowMs, taken: 0, asked: 0, underWay: undefined }
}

/** Requests of one client that a gateway admits on its own before the keeper has answered. @param gateways at least 2. */
export function creditOf({ burst }: Rate, gateways: number): number {
  return Math.floor((burst * CREDIT_SHARE) / (gateways - 1))
}

/** Judges a request that arrives at the keeper. @returns 0 if it is admitted, else milliseconds to wait. */
export function takeAsKeeper(bucket: Bucket, nowMs: number, rate: Rate): number {
  bucket.taken = 0 // if this gateway has just become the keeper, its own count is already part of the bucket
  const { fullAtMs, waitMs } = judgeRequest(bucket.fullAtMs, nowMs, rate)
  bucket.fullAtMs = fullAtMs
  return waitMs
}

/**
 * Judges a request that arrives at any other gateway. Everything counted here was certainly taken, so this gateway can refuse
 * without asking the keeper.
 * @returns 0 if the request is admitted, milliseconds to wait if it is refused, or 'ask' if the keeper must be asked.
 */
export function takeOnCredit(bucket: Bucket, nowMs: number, rate: Rate, credit: number): number | 'ask' {
  const { fullAtMs, waitMs } = judgeRequest(bucket.fullAtMs, nowMs, rate)
  bucket.fullAtMs = fullAtMs
  if (waitMs > 0) return waitMs
  if (onCredit(bucket) < credit) {
    bucket.taken += 1
    return 0
  }
  bucket.asked += 1
  return 'ask'
}

/** Requests admitted here that the keeper has not confirmed. */
export function onCredit({ taken, underWay }: Bucket): number {
  return taken + (underWay?.taken ?? 0)
}

/** Creates the report for the keeper. Do not call it again before `settle` or `giveUp`. */
export function takeReport(bucket: Bucket, nowMs: number, rate: Rate): Report {
  const { taken, asked } = bucket
  const before = levelOf(bucket.fullAtMs, nowMs + REPORT_AGE_MS, rate) - taken - asked
  const report = { taken, asked, level: Math.max(0, before) }
  bucket.underWay = report
  bucket.taken = 0
  bucket.asked = 0
  return report
}

/** The keeper's side: counts what was taken, even past the burst, and grants as many of the requests asked for as fit. */
export function keepReport(bucket: Bucket, report: Report, nowMs: number, rate: Rate): Settlement {
  const known = Math.max(levelOf(bucket.fullAtMs, nowMs, rate), report.level) + report.taken
  const granted = Math.min(report.asked, roomOf(fullAtOf(known, nowMs, rate), nowMs, rate))
  const level = known + granted
  bucket.fullAtMs = fullAtOf(level, nowMs, rate)
  return { granted, level }
}

/** Applies the keeper's answer. Requests that it did not grant took nothing. */
export function settle(bucket: Bucket, settlement: Settlement, nowMs: number, rate: Rate): void {
  const refused = (bucket.underWay?.asked ?? 0) - settlement.granted
  bucket.underWay = undefined
  const since = bucket.taken + bucket.asked
  bucket.fullAtMs = Math.max(fullAtOf(-refused, bucket.fullAtMs, rate), fullAtOf(settlement.level + since, nowMs, rate))
}

/** Call this if the keeper does not answer. Counts the requests that it was asked about as taken, for the next report. */
export function giveUp(bucket: Bucket): void {
  bucket.taken += (bucket.underWay?.taken ?? 0) + (bucket.underWay?.asked ?? 0)
  bucket.underWay = undefined
}
