import { type Loop, startLoop } from '@svc/service/loop.ts'
import type { StreamDeps } from '../deps.ts'
import { LEASE_SECONDS, purgeLeases, renewLeases } from '../store/leases.ts'
import { purgeProcesses, reportProcess } from '../store/processes.ts'

const INTERVAL_MS = 2_000

/**
 * Renews the leases of this process and reports how many more streams it can hold. If a lease could not be renewed in
 * time, another process may have it. This process then closes the stream, so that an agent never has more than two
 * (spec 9.8).
 */
export function startRenewLeases({ database, logger, streams, processId }: Omit<StreamDeps, 'bus'>): Loop {
  let guard = setTimeout(() => {}, 0)
  const armGuard = (renewedMs: number): void => {
    clearTimeout(guard)
    const leftMs = LEASE_SECONDS * 1_000 - (performance.now() - renewedMs)
    guard = setTimeout(() => {
      if (streams.open.length > 0) logger.warn('leases could not be renewed: closing all streams')
      streams.closeAll()
      armGuard(performance.now()) // for streams that open before a renewal succeeds
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
        // Swallow the error, so that the loop retries at its next turn without backoff: leases expire soon.
        logger.warn({ err: error }, 'leases could not be renewed: trying again')
      }
      return false
    },
  })
}
