import type { Batcher } from '@svc/batching/batcher.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { deliveryHeaders } from './domain/delivery.ts'
import { type Backoff, secondsToNext } from './domain/schedule.ts'
import type { SecretBox } from './domain/secret-box.ts'
import { type ExemptTargets, parseWebhookUrl } from './domain/webhook-url.ts'
import { post } from './http/post.ts'
import { findAddresses, type Resolve } from './http/resolve.ts'
import type { Claim, ClaimedJob, Ended, Outcome } from './store/jobs.ts'

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

/** Endpoints that are looked at in one claim at most; each gives two jobs at most. */
const MAX_ENDPOINTS = 64
const JOBS_PER_ENDPOINT = 2
/** After a fault of our own, which is no attempt (field notes 4.2). */
const POSTPONED_SECONDS = 30
const MS_PER_SECOND = 1_000

export function createDeliveries(options: DeliveriesOptions): Deliveries {
  const { logger, secrets, exemptTargets, resolve, backoff, concurrency, attemptMs, begin, finish, onEnd } = options
  const running = new Set<Promise<void>>()
  let struggling = 0

  return {
    get inFlight() {
      return running.size
    },
    room() {
      const free = endpointsIn(concurrency - running.size)
      // Endpoints that fail take long to do so: however many there are, half of the process is kept for the others.
      return { steadyEndpoints: free, strugglingEndpoints: Math.min(free, endpointsIn(concurrency / 2 - struggling)) }
    },
    start(jobs) {
      for (const job of jobs) {
        if (job.struggling) struggling += 1
        const run = deliver(job).finally(() => {
          running.delete(run)
          if (job.struggling) struggling -= 1
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
    try {
      const outcome = await attempt(job)
      failpoint('webhook.attempted')
      if (outcome !== undefined) await finish({ job, outcome })
      failpoint('webhook.finished')
    } catch (error) {
      // The database is away: nothing was recorded, and when the lease has ended a worker takes the job again.
      logger.warn({ err: error }, 'a delivery is left to its lease')
    }
  }

  /** @returns undefined where the job is no longer this process's, or its configuration is not the present one. */
  async function attempt(job: ClaimedJob): Promise<Outcome | undefined> {
    // What has expired is excluded from reads at once (service.md, Limits), and a delivery is one.
    if (job.expiresAt * MS_PER_SECOND <= Date.now()) return { kind: 'failed' }
    const secret = openSecret(job)
    if (secret === undefined) return { kind: 'postponed', afterSeconds: POSTPONED_SECONDS }
    failpoint('webhook.claimed')
    const startedMs = performance.now()
    const { url, target } = parseWebhookUrl(job.url, exemptTargets)
    const addresses = await within(attemptMs, findAddresses(target, resolve)).catch((error: unknown) => {
      logger.debug({ err: error }, 'an endpoint has no address to connect to')
      return undefined
    })
    if (addresses === undefined) return afterFailure(job)
    const resolvedMs = performance.now() - startedMs
    failpoint('webhook.resolved')
    if (!(await begin(job))) return undefined
    failpoint('webhook.begun')
    const headers = deliveryHeaders(job, secret, Date.now())
    try {
      const timeoutMs = Math.max(1, Math.floor(attemptMs - resolvedMs))
      const status = await post({ url, addresses, headers, body: job.body, timeoutMs })
      return status >= 200 && status < 300 ? { kind: 'delivered' } : afterFailure(job)
    } catch (error) {
      logger.debug({ err: error }, 'an attempt failed')
      return afterFailure(job)
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

  function afterFailure({ attempts }: ClaimedJob): Outcome {
    const afterSeconds = secondsToNext(backoff, attempts + 1, Math.random())
    return afterSeconds === undefined ? { kind: 'failed' } : { kind: 'retry', afterSeconds }
  }
}

function endpointsIn(jobs: number): number {
  return Math.max(0, Math.min(MAX_ENDPOINTS, Math.floor(jobs / JOBS_PER_ENDPOINT)))
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
