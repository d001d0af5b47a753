import { type Loop, startLoop } from '@svc/service/loop.ts'
import type { StreamDeps } from '../deps.ts'
import { LEASE_SECONDS, purgeLeases, renewLeases } from '../store/leases.ts'
import { purgeProcesses, reportProcess } from '../store/processes.ts'

const INTERVAL_MS = 2_000

/**
 * Keeps the leases of this process and says how much room it has. A lease that could not be renewed in its time may be
 * somebody else's: its stream is closed, so that an agent never has more than two (spec 9.8).
 */
export function startRenewLeases({ database, logger, streams, processId }: Omit<StreamDeps, 'bus'>): Loop {
  let guard = setTimeout(() => {}, 0)
  const armGuard = (renewedMs: number): void => {
    clearTimeout(guard)
    const leftMs = LEASE_SECONDS * 1_000 - (performance.now() - renewedMs)
    guard = setTimeout(() => {
      if (streams.open.length > 0) logger.warn('leases could not be renewed: closing all streams')
      streams.closeAll()
      armGuard(performance.now()) // for those that are opened before a renewal succeeds
    }, leftMs)
    guard.unref()
  }
  armGuard(performance.now())

  return startLoop({
    name: 'renew-leases',
    logger,
    intervalMs: INTERVAL_MS,
    run: async () => {
      const beganMs = performance.now()
      const asked = streams.leaseIds
      try {
        const kept = await database.run((sql) => renewLeases(sql, asked))
        armGuard(beganMs)
        streams.keepLeases(kept, asked)
        await database.run((sql) => reportProcess(sql, processId, streams.room))
        await database.run((sql) => purgeLeases(sql))
        await database.run((sql) => purgeProcesses(sql))
      } catch (error) {
        // At the next turn again, rather than after a growing pause: leases do not wait.
        logger.warn({ err: error }, 'leases were not renewed')
      }
      return false
    },
  })
}
