import type { Database } from '@svc/postgres/database.ts'
import { type Loop, startLoop } from '@svc/service/loop.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { purgeReleased, purgeSettled } from '../store/reservations.ts'

const INTERVAL_MS = 60_000
/**
 * A day and an hour, so that the owner's own record, which is kept for a day, is gone first (libs/charging). A repeat in that
 * hour is answered `settled` and costs nothing. If budget forgot first, a repeat would be charged without an effect.
 */
const KEPT_MS = 25 * 60 * 60 * 1000
const MAX_ITEMS = 1_000

/** Removes reservations that ended long ago. Their cost stays counted in the accounts. */
export function startPurgeReservations({ database, logger }: { database: Database; logger: Logger }): Loop {
  return startLoop({
    name: 'purge-reservations',
    logger,
    intervalMs: INTERVAL_MS,
    run: async () => {
      const settled = await database.run((sql) => purgeSettled(sql, KEPT_MS, MAX_ITEMS))
      const released = await database.run((sql) => purgeReleased(sql, KEPT_MS, MAX_ITEMS))
      return settled === MAX_ITEMS || released === MAX_ITEMS
    },
  })
}
