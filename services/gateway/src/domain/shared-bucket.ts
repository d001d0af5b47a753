/**
 * One client's bucket where there are several gateways. One of them keeps it (`keeper.ts`) and judges exactly; each other
 * one admits a few requests on credit, tells the keeper, and asks it before it admits any more. So all gateways together
 * admit what the rate allows, and their credits once (spec 3.15), however late anything arrives: the credits together are
 * `CREDIT_SHARE` of the burst. Only spans of time cross between gateways, never a time, so their clocks may differ.
 */
import { fullAtOf, judgeRequest, levelOf, type Rate, roomOf } from './gcra.ts'

/** What one gateway knows of one client. */
export interface Bucket {
  /** When it would be full again: what the keeper said last, and all that was taken or asked for here since. */
  fullAtMs: number
  /** Admitted here on credit, and the keeper has not been told. */
  taken: number
  /** Waiting for the keeper's word, and it has not been asked. */
  asked: number
  /** What the keeper was told and has not answered. */
  underWay: Report | undefined
}

/** What a gateway tells the keeper of a bucket. */
export interface Report {
  /** Admitted on credit since the report before. */
  readonly taken: number
  /** To be judged. */
  readonly asked: number
  /** What was missing in the bucket besides these, as far as this gateway knows: for a keeper that knows less. In requests. */
  readonly level: number
}

/** What the keeper answers. */
export interface Settlement {
  /** Of those that were asked for. */
  readonly granted: number
  /** What is missing in the bucket now. In requests. */
  readonly level: number
}

/** Of the burst: what all gateways together may admit before the keeper knows. The limit of 1.2 bursts (spec 3.15) leaves 20 %. */
export const CREDIT_SHARE = 0.2

/**
 * A level is told as it was this long ago. What was right when it was sent is too high when it arrives; without this a level
 * that goes to and fro would never fall. A keeper that has just taken over misses so much of what was taken.
 */
const REPORT_AGE_MS = 250

export function createBucket(nowMs: number): Bucket {
  return { fullAtMs: nowMs, taken: 0, asked: 0, underWay: undefined }
}

/** Requests of one client that a gateway admits on its own until the keeper has answered. @param gateways at least 2. */
export function creditOf({ burst }: Rate, gateways: number): number {
  return Math.floor((burst * CREDIT_SHARE) / (gateways - 1))
}

/** A request at the keeper. @returns 0: admitted; else milliseconds to wait. */
export function takeAsKeeper(bucket: Bucket, nowMs: number, rate: Rate): number {
  bucket.taken = 0 // where it became the keeper a moment ago: its own count is the bucket's now
  const { fullAtMs, waitMs } = judgeRequest(bucket.fullAtMs, nowMs, rate)
  bucket.fullAtMs = fullAtMs
  return waitMs
}

/**
 * A request at any other gateway. What is known here was taken for certain, so a refusal needs nobody else.
 * @returns 0: admitted; else milliseconds to wait; or that the keeper must be asked.
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

/** Admitted here, and not known to be known to the keeper. */
export function onCredit({ taken, underWay }: Bucket): number {
  return taken + (underWay?.taken ?? 0)
}

/** What to tell the keeper; until `settle` or `giveUp` there is no other. */
export function takeReport(bucket: Bucket, nowMs: number, rate: Rate): Report {
  const { taken, asked } = bucket
  const before = levelOf(bucket.fullAtMs, nowMs + REPORT_AGE_MS, rate) - taken - asked
  const report = { taken, asked, level: Math.max(0, before) }
  bucket.underWay = report
  bucket.taken = 0
  bucket.asked = 0
  return report
}

/** The keeper's part: counts what was taken, even past the burst, and admits of what was asked for as much as there is room for. */
export function keepReport(bucket: Bucket, report: Report, nowMs: number, rate: Rate): Settlement {
  const known = Math.max(levelOf(bucket.fullAtMs, nowMs, rate), report.level) + report.taken
  const granted = Math.min(report.asked, roomOf(fullAtOf(known, nowMs, rate), nowMs, rate))
  const level = known + granted
  bucket.fullAtMs = fullAtOf(level, nowMs, rate)
  return { granted, level }
}

/** The keeper has answered. What it did not grant was not taken. */
export function settle(bucket: Bucket, settlement: Settlement, nowMs: number, rate: Rate): void {
  const refused = (bucket.underWay?.asked ?? 0) - settlement.granted
  bucket.underWay = undefined
  const since = bucket.taken + bucket.asked
  bucket.fullAtMs = Math.max(fullAtOf(-refused, bucket.fullAtMs, rate), fullAtOf(settlement.level + since, nowMs, rate))
}

/** There was no answer. What was asked for is admitted as far as is known here, and the next keeper is told of all of it. */
export function giveUp(bucket: Bucket): void {
  bucket.taken += (bucket.underWay?.taken ?? 0) + (bucket.underWay?.asked ?? 0)
  bucket.underWay = undefined
}
