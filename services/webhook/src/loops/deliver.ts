import type { Database } from '@svc/postgres/database.ts'
import { type Loop, startLoop } from '@svc/service/loop.ts'
import { isTracing } from '@svc/telemetry/tracing.ts'
import type { Deliveries } from '../deliveries.ts'
import type { WebhookDeps } from '../deps.ts'
import { type ClaimedJob, claimJobs, findTraces } from '../store/jobs.ts'

/** Jobs of other processes, retries and leases that ended are found so often; own jobs wake the loop. */
const INTERVAL_MS = 250

/** Takes due jobs and begins with them. Any number of processes at once: what one holds no other takes. */
export function startDeliver({
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
      const room = deliveries.room()
      if (signal.aborted || room.steadyJobs === 0) return false
      const jobs = await database.run((sql) => claimJobs(sql, room, leaseSeconds))
      deliveries.start(isTracing() && jobs.length > 0 ? await withTraces(database, jobs) : jobs)
      return jobs.length > 0
    },
    ended: () => deliveries.drain(),
  })
}

/** Jobs that were claimed are begun with, also where their traces cannot be found. */
async function withTraces(database: Database, jobs: readonly ClaimedJob[]): Promise<ClaimedJob[]> {
  const traces = await database.run((sql) => findTraces(sql, jobs)).catch(() => [])
  return jobs.map((job, at) => ({ ...job, traceparent: traces[at] ?? undefined }))
}
