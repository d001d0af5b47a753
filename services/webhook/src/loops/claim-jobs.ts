import { type Loop, startLoop } from '@svc/service/loop.ts'
import { isTracing } from '@svc/telemetry/tracing.ts'
import type { WebhookDeps } from '../deps.ts'
import { type ClaimedJob, claimJobs, findTraces } from '../store/jobs.ts'
import type { Deliveries } from './deliveries.ts'

/** How often to look for jobs of other processes, retries and expired leases. Jobs that this process makes wake the loop. */
const INTERVAL_MS = 250

/**
 * Claims due jobs and starts their deliveries. Safe on any number of processes: a job that one of them holds is not
 * claimed by another.
 */
export function startClaimJobs({
  database,
  logger,
  deliveries,
  leaseSeconds,
}: Pick<WebhookDeps, 'database' | 'logger'> & { deliveries: Deliveries; leaseSeconds: number }): Loop {
  return startLoop({
    name: 'deliver',
    logger,
    intervalMs: INTERVAL_MS,
    run: async (signal) => {
      const limits = deliveries.claimLimits()
      if (signal.aborted || limits.steadyJobs === 0) return false
      const jobs = await database.run((sql) => claimJobs(sql, limits, leaseSeconds))
      deliveries.startJobs(isTracing() && jobs.length > 0 ? await withTraces({ database, logger }, jobs) : jobs)
      return jobs.length > 0
    },
    ended: () => deliveries.drain(),
  })
}

/** Claimed jobs are started even if their traces cannot be read. */
async function withTraces(
  { database, logger }: Pick<WebhookDeps, 'database' | 'logger'>,
  jobs: readonly ClaimedJob[],
): Promise<ClaimedJob[]> {
  const traces = await database
    .run((sql) => findTraces(sql, jobs))
    .catch((error: unknown) => {
      logger.warn({ err: error }, 'traces could not be read: deliveries start without them')
      return []
    })
  return jobs.map((job, at) => ({ ...job, traceparent: traces[at] ?? undefined }))
}
