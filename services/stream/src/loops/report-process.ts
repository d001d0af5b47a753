import { type Loop, startLoop } from '@svc/service/loop.ts'
import type { StreamDeps } from '../deps.ts'
import { listLeases, releaseLeases } from '../store/leases.ts'
import { purgeProcesses, reportProcess, SILENCE_SECONDS } from '../store/processes.ts'

const INTERVAL_MS = 2_000
/** How often this process looks for leases that have no seat. */
const ORPHANS_MS = 10_000

/**
 * Reports that this process is alive, which keeps the leases of its streams, and how many more streams it can hold. If it could
 * not report in time, its leases may be gone and another process may have the agents' slots. This process then closes all of
 * its streams, so that an agent never has more than two (spec 9.8).
 */
export function startReportProcess({
  database,
  logger,
  streams,
  processId,
}: Pick<StreamDeps, 'database' | 'logger' | 'streams' | 'processId'>): Loop {
  const closeAll = (why: string): void => {
    if (streams.open.length > 0) logger.warn(`${why}: closing all streams`)
    streams.closeAll()
  }
  let guard = setTimeout(() => {}, 0)
  const armGuard = (reportedMs: number): void => {
    clearTimeout(guard)
    const leftMs = SILENCE_SECONDS * 1_000 - (performance.now() - reportedMs)
    guard = setTimeout(() => {
      closeAll('this process could not report')
      armGuard(performance.now()) // for streams that open before a report succeeds
    }, leftMs)
    guard.unref()
  }
  armGuard(performance.now())

  let orphansMs = performance.now()
  /** Releases leases that outlived their seat, because a release failed or came before the lease. They never expire. */
  const releaseOrphans = async (): Promise<void> => {
    if (performance.now() - orphansMs < ORPHANS_MS) return
    const leases = await database.run((sql) => listLeases(sql, processId))
    // A seat is taken before its lease, so every lease that has a seat finds it here.
    const held = streams.leaseIds
    const orphans = leases.filter((id) => !held.has(id))
    if (orphans.length > 0) await database.run((sql) => releaseLeases(sql, orphans))
    orphansMs = performance.now()
  }

  return startLoop({
    name: 'report-process',
    logger,
    intervalMs: INTERVAL_MS,
    run: async () => {
      const beganMs = performance.now()
      try {
        const hadLeases = await database.run((sql) => reportProcess(sql, processId, streams.room))
        if (!hadLeases) closeAll('other processes considered this one dead')
        armGuard(beganMs)
        await database.run((sql) => purgeProcesses(sql))
        await releaseOrphans()
      } catch (error) {
        // Swallow the error, so that the loop retries at its next pass without backoff: other processes wait only for some seconds.
        logger.warn({ err: error }, 'this process could not report: trying again')
      }
      return false
    },
  })
}
