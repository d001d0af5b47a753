import type { Batcher } from '@svc/batching/batcher.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { startSpan } from '@svc/telemetry/tracing.ts'
import { deliveryHeaders } from './domain/delivery.ts'
import { type Claim, Occupancy } from './domain/occupancy.ts'
import { type Backoff, secondsToNext } from './domain/schedule.ts'
import type { SecretBox } from './domain/secret-box.ts'
import { type ExemptTargets, parseWebhookUrl } from './domain/webhook-url.ts'
import { post } from './http/post.ts'
import { findAddresses, type Resolve } from './http/resolve.ts'
import { attemptSeconds, attempts, outcomes } from './metrics.ts'
import type { ClaimedJob, Ended, Outcome } from './store/jobs.ts'

/** The requests of this process. */
export interface Deliveries {
  /** Jobs that this process holds. */
  readonly inFlight: number
  /** What may be claimed now: none of either where this process has enough to do. */
  room(): Claim
  /** Begins with jobs that were claimed, and does not wait for them. */
  start(jobs: readonly ClaimedJob[]): void
  /** Until all that was begun has ended, which is bounded by the time of an attempt. */
  drain(): Promise<void>
}

/** How an attempt ended, and in which of the few ways that metrics tell apart. */
interface Attempted {
  /** Undefined where the job is no longer this process's, or its configuration is not the present one. */
  readonly outcome: Outcome | undefined
  readonly result: string
}

export interface DeliveriesOptions {
  readonly logger: Logger
  readonly secrets: SecretBox
  readonly exemptTargets: ExemptTargets
  readonly resolve: Resolve
  readonly backoff: Backoff
  readonly concurrency: number
  readonly attemptMs: number
  readonly begin: Batcher<ClaimedJob, boolean>
  readonly finish: Batcher<Ended, void>
  /** Called when there is room again. */
  readonly onEnd: () => void
}

/** Of the time for an attempt: one that takes longer is slow, however it ends. */
const SLOW_SHARE = 0.3
/** After a fault of our own, which is no attempt (ADR 22). */
const POSTPONED_SECONDS = 30
const MS_PER_SECOND = 1_000

export function createDeliveries(options: DeliveriesOptions): Deliveries {
  const { logger, secrets, exemptTargets, resolve, backoff, concurrency, attemptMs, begin, finish, onEnd } = options
  const running = new Set<Promise<void>>()
  const occupancy = new Occupancy(concurrency)

  return {
    get inFlight() {
      return running.size
    },
    room: () => occupancy.room(),
    start(jobs) {
      for (const job of jobs) {
        const place = occupancy.take(job)
        const run = deliver(job).finally(() => {
          running.delete(run)
          place[Symbol.dispose]()
          onEnd()
        })
        running.add(run)
      }
    },
    async drain() {
      await Promise.all(running)
    },
  }

  async function deliver(job: ClaimedJob): Promise<void> {
    const startedMs = performance.now()
    try {
      const { outcome } = await watched(job)
      failpoint('webhook.attempted')
      if (outcome !== undefined)
        await finish({ job, outcome, slow: performance.now() - startedMs > attemptMs * SLOW_SHARE })
      failpoint('webhook.finished')
    } catch (error) {
      // The database is away: nothing was recorded, and when the lease has ended a worker takes the job again.
      logger.warn({ err: error }, 'a delivery is left to its lease')
    }
  }

  /** One attempt, counted and, where the request that it comes from is, traced. */
  async function watched(job: ClaimedJob): Promise<Attempted> {
    const beganMs = performance.now()
    const span =
      job.traceparent === undefined
        ? undefined
        : startSpan('webhook attempt', {
            kind: 'producer',
            parent: job.traceparent,
            attributes: { 'svc.webhook.attempt': job.attempts + 1 },
          })
    const attempted = await attempt(job).catch((error: unknown) => {
      span?.end(error)
      throw error
    })
    const { outcome, result } = attempted
    attempts.add({ result })
    attemptSeconds.observe({}, (performance.now() - beganMs) / MS_PER_SECOND)
    if (outcome !== undefined) outcomes.add({ outcome: outcome.kind })
    span?.end(result === 'delivered' ? undefined : result)
    return attempted
  }

  async function attempt(job: ClaimedJob): Promise<Attempted> {
    // An expired message is not delivered (spec 10.4).
    if (job.expiresAt * MS_PER_SECOND <= Date.now()) return { outcome: { kind: 'failed' }, result: 'expired' }
    const secret = openSecret(job)
    if (secret === undefined) {
      return { outcome: { kind: 'postponed', afterSeconds: POSTPONED_SECONDS }, result: 'secret' }
    }
    failpoint('webhook.claimed')
    const startedMs = performance.now()
    const { url, target } = parseWebhookUrl(job.url, exemptTargets)
    const addresses = await within(attemptMs, findAddresses(target, resolve)).catch((error: unknown) => {
      logger.debug({ reason: reasonOf(error) }, 'an endpoint has no address to connect to')
      return undefined
    })
    if (addresses === undefined) return afterFailure(job, 'address')
    const resolvedMs = performance.now() - startedMs
    failpoint('webhook.resolved')
    if (!(await begin(job))) return { outcome: undefined, result: 'void' }
    failpoint('webhook.begun')
    const headers = deliveryHeaders(job, secret, Date.now())
    try {
      const timeoutMs = Math.max(1, Math.floor(attemptMs - resolvedMs))
      const status = await post({ url, addresses, headers, body: job.body, timeoutMs })
      return status >= 200 && status < 300
        ? { outcome: { kind: 'delivered' }, result: 'delivered' }
        : afterFailure(job, `status_${Math.floor(status / 100)}xx`)
    } catch (error) {
      logger.debug({ reason: reasonOf(error) }, 'an attempt failed')
      return afterFailure(job, isTimeout(error) ? 'timeout' : 'connection')
    }
  }

  function openSecret(job: ClaimedJob): Buffer | undefined {
    try {
      return secrets.open(job, job)
    } catch (error) {
      logger.error({ err: error }, 'a webhook secret does not open')
      return undefined
    }
  }

  function afterFailure({ attempts }: ClaimedJob, result: string): Attempted {
    const afterSeconds = secondsToNext(backoff, attempts + 1, Math.random())
    return { outcome: afterSeconds === undefined ? { kind: 'failed' } : { kind: 'retry', afterSeconds }, result }
  }
}

/** Errors of connections name the host, which is an agent's own affair: what is logged is the kind (ADR 22). */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  return 'code' in error ? String(error.code) : error.name
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && /Timeout/.test(`${error.name} ${'code' in error ? String(error.code) : ''}`)
}

/** @throws Error where `work` takes longer; it goes on unheard. */
async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`nothing in ${ms} ms`)), ms)
  try {
    return await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
