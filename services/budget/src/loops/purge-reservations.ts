import type { Database } from '@svc/postgres/database.ts'
import { isLockTimeout } from '@svc/postgres/errors.ts'
import { type Loop, startLoop } from '@svc/service/loop.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { SLOTS, truncateReservations } from '../store/reservations.ts'

/** A backup may read a partition for hours, and each pass meanwhile delays charges by `LOCK_WAIT_MS`. */
const INTERVAL_MS = 10 * 60_000
/**
 * A day and an hour, so that the owner's own record, which is kept for a day, is gone first (libs/charging). A repeat in that
 * hour is answered `settled` and costs nothing. If budget forgot first, a repeat would be charged without an effect.
 */
const KEPT_MS = 25 * 60 * 60 * 1000
/** While the purge waits for the lock of a partition, charges wait behind it. So it gives up soon, and tries again in the next pass. */
const LOCK_WAIT_MS = 200

/** Removes reservations that ended long ago, a partition at once. Any number of processes may run it. */
export function startPurgeReservations({ database, logger }: { database: Database; logger: Logger }): Loop {
  return startLoop({
    name: 'purge-reservations',
    logger,
    intervalMs: INTERVAL_MS,
    run: async () => {
      for (const slot of SLOTS) await emptySlot(database, slot)
      return false
    },
  })
}

async function emptySlot(database: Database, slot: number): Promise<void> {
  try {
    await database.run((sql) => truncateReservations(sql, { slot, keptMs: KEPT_MS, waitMs: LOCK_WAIT_MS }))
  } catch (error) {
    if (!isLockTimeout(error)) throw error
  }
}
