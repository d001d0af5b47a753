import type { Batcher } from '@svc/batching/batcher.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import { type AttemptError, attemptErrorOf, lateIn, refusedWith } from '@svc/outbound/attempt-error.ts'
import { post } from '@svc/outbound/post.ts'
import { findAddresses, type Resolve } from '@svc/outbound/resolve.ts'
import { type ExemptTargets, parseWebhookUrl, type Target } from '@svc/outbound/webhook-url.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { startSpan } from '@svc/telemetry/tracing.ts'
import { deliveryHeaders } from '../domain/delivery.ts'
import { createFailureLog, type FailedAttempt } from '../domain/failure-log.ts'
import { type Claim, Occupancy } from '../domain/occupancy.ts'
import { type Backoff, secondsToNext } from '../domain/schedule.ts'
import type { SecretBox } from '../domain/secret-box.ts'
import { acceptedToAttempt, acceptedToDelivered, attemptSeconds, attempts, outcomes } from '../metrics.ts'
import type { ClaimedJob, Ended, Outcome } from '../store/jobs.ts'

/** The outcome of an attempt, and its result as metrics report it. */
interface Attempted {
  /** Undefined if the job is no longer this process's, or its configuration is no longer the current one. */
  readonly outcome: Outcome | undefined
  readonly result: string
}

interface DeliveriesOptions {
  readonly logger: Logger
  readonly secrets: SecretBox
  readonly exemptTargets: ExemptTargets
  readonly resolve: Resolve
  readonly backoff: Backoff
  readonly concurrency: number
  readonly attemptMs: number
  readonly begin: Batcher<ClaimedJob, boolean>
  readonly endAttempts: Batcher<Ended, void>
  /** Called when a request has ended, and there is room again. */
  readonly onEnd: () => void
}

/** An attempt that takes more than this share of its timeout is slow, however it ends. */
const SLOW_SHARE = 0.3
/** Delay after a fault of this process, which does not count as an attempt (ADR 22). */
const POSTPONED_SECONDS = 30
const MS_PER_SECOND = 1_000
const EXPIRED = 'expired: the message expired before the first attempt'
const SEALED = 'secret: it cannot be decrypted with SVC_WEBHOOK_SECRET_KEY'

/** The deliveries that this process has under way. */
export class Deliveries {
  readonly #options: DeliveriesOptions
  readonly #running = new Set<Promise<void>>()
  readonly #occupancy: Occupancy
  readonly #logFailure: (failed: FailedAttempt) => void

  constructor(options: DeliveriesOptions) {
    this.#options = options
    this.#occupancy = new Occupancy(options.concurrency)
    this.#logFailure = createFailureLog((fields) => options.logger.warn(fields, 'a webhook delivery failed'))
  }

  /** Number of jobs that this process holds. */
  get inFlight(): number {
    return this.#running.size
  }

  /** The limits of the next claim. They allow nothing if this process is busy enough. */
  claimLimits(): Claim {
    return this.#occupancy.claimLimits()
  }

  /** Starts claimed jobs without waiting for them. */
  startJobs(jobs: readonly ClaimedJob[]): void {
    for (const job of jobs) {
      const place = this.#occupancy.occupy(job)
      const run = this.#deliver(job).finally(() => {
        this.#running.delete(run)
        place[Symbol.dispose]()
        this.#options.onEnd()
      })
      this.#running.add(run)
    }
  }

  /** Waits until all started deliveries have ended, which takes at most as long as an attempt. */
  async drain(): Promise<void> {
    await Promise.all(this.#running)
  }

  async #deliver(job: ClaimedJob): Promise<void> {
    const { attemptMs, endAttempts, logger } = this.#options
    const startedMs = performance.now()
    try {
      const { outcome } = await this.#measuredAttempt(job)
      failpoint('webhook.attempted')
      if (outcome !== undefined)
        await endAttempts({ job, outcome, slow: performance.now() - startedMs > attemptMs * SLOW_SHARE })
      failpoint('webhook.finished')
    } catch (error) {
      // The database is unavailable and nothing was recorded. When the lease has expired, a worker takes the job again.
      logger.warn({ err: error }, 'a delivery could not be recorded: it is due again when its lease expires')
    }
  }

  /** Runs one attempt, with metrics, and with a span if the request that caused it is traced. */
  async #measuredAttempt(job: ClaimedJob): Promise<Attempted> {
    const beganMs = performance.now()
    const span =
      job.traceparent === undefined
        ? undefined
        : startSpan('webhook attempt', {
            kind: 'producer',
            parent: job.traceparent,
            attributes: { 'svc.webhook.attempt': job.attempts + 1 },
          })
    const attempted = await this.#attempt(job).catch((error: unknown) => {
      span?.end(error)
      throw error
    })
    const { outcome, result } = attempted
    attempts.add({ result })
    attemptSeconds.observe({}, (performance.now() - beganMs) / MS_PER_SECOND)
    if (outcome !== undefined) outcomes.add({ outcome: outcome.kind })
    if (outcome?.kind === 'delivered') observeSinceAcceptance(acceptedToDelivered, job)
    span?.end(result === 'delivered' ? undefined : result)
    return attempted
  }

  async #attempt(job: ClaimedJob): Promise<Attempted> {
    const { attemptMs, begin } = this.#options
    // An expired message is not delivered (spec 10.4). The error of an earlier attempt says more.
    if (job.expiresAt * MS_PER_SECOND <= Date.now())
      return { outcome: { kind: 'failed', error: job.attempts === 0 ? EXPIRED : null }, result: 'expired' }
    const secret = this.#openSecret(job)
    if (secret === undefined)
      return { outcome: { kind: 'postponed', afterSeconds: POSTPONED_SECONDS, error: SEALED }, result: 'secret' }
    failpoint('webhook.claimed')
    const startedMs = performance.now()
    const found = await this.#findEndpoint(job).catch((error: unknown) => attemptErrorOf(error, 'resolve'))
    if (found instanceof Error) return this.#afterFailure(job, found)
    const resolvedMs = performance.now() - startedMs
    failpoint('webhook.resolved')
    if (!(await begin(job))) return { outcome: undefined, result: 'void' }
    failpoint('webhook.begun')
    if (job.attempts === 0) observeSinceAcceptance(acceptedToAttempt, job)
    const headers = deliveryHeaders(job, secret, Date.now())
    const timeoutMs = Math.max(1, Math.floor(attemptMs - resolvedMs))
    const answered = await post({ ...found, headers, body: job.body, timeoutMs }).catch((error: unknown) =>
      attemptErrorOf(error, 'answer'),
    )
    if (answered instanceof Error) return this.#afterFailure(job, answered)
    return answered >= 200 && answered < 300
      ? { outcome: { kind: 'delivered' }, result: 'delivered' }
      : this.#afterFailure(job, refusedWith(answered))
  }

  async #findEndpoint({ url }: ClaimedJob): Promise<{ target: Target; addresses: readonly string[] }> {
    const { attemptMs, exemptTargets, resolve } = this.#options
    const target = parseWebhookUrl(url, exemptTargets)
    return { target, addresses: await within(attemptMs, findAddresses(target, resolve)) }
  }

  #openSecret(job: ClaimedJob): Buffer | undefined {
    try {
      return this.#options.secrets.open(job, job)
    } catch (error) {
      this.#options.logger.error({ err: error }, 'a webhook secret could not be decrypted')
      return undefined
    }
  }

  #afterFailure({ attempts, host }: ClaimedJob, { result, message: error }: AttemptError): Attempted {
    const { backoff } = this.#options
    this.#logFailure({ host, reason: error, attempt: attempts + 1, attempts: backoff.length })
    const afterSeconds = secondsToNext(backoff, attempts + 1, Math.random())
    return {
      outcome: afterSeconds === undefined ? { kind: 'failed', error } : { kind: 'retry', afterSeconds, error },
      result,
    }
  }
}

/** At least 0, because the clocks of two machines may differ. */
function observeSinceAcceptance(metric: typeof acceptedToAttempt, { acceptedMs }: ClaimedJob): void {
  metric.observe({}, Math.max(Date.now() - acceptedMs, 0) / MS_PER_SECOND)
}

/** @throws AttemptError if `work` takes longer. `work` continues, but its result is ignored. */
async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(lateIn('resolve')), ms)
  try {
    return await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
