import type { Database, Sql, Tx } from '@svc/postgres/database.ts'
import { isLockTimeout } from '@svc/postgres/errors.ts'
import { type Loop, startLoop } from '@svc/service/loop.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import type { Purged } from '../store/operate/count-expired.ts'
import { purgePending, SLOTS, truncateSlot } from '../store/operate/purge.ts'
import { purgeMessageFences } from '../store/send/message-fences.ts'

/** Nothing waits for a purge, because every query leaves expired rows out. */
const INTERVAL_MS = 5_000
/** Rows per transaction. No other transaction needs rows this old, so none waits for these locks. */
const BATCH_ROWS = 1_000
/**
 * While the purge waits for the lock of a partition, senders wait behind it. So it gives up soon, and tries again after a
 * thousandth of the retention. A long transaction, such as a backup's, may keep it from the lock for hours.
 */
const LOCK_WAIT_MS = 200

/**
 * Removes expired data: a partition at once, everything else in small transactions. Any number of processes may run it,
 * because each skips what another has locked.
 */
export function startPurgeLoop(database: Database, logger: Logger, retentionSeconds: number): Loop {
  let emptyAtMs = 0
  const run = inDatabase(database)
  return startLoop({
    name: 'purge',
    logger,
    intervalMs: INTERVAL_MS,
    run: async () => {
      const nowMs = performance.now()
      if (nowMs >= emptyAtMs) {
        emptyAtMs = nowMs + retentionSeconds // in milliseconds, a thousandth of it
        await emptySlots(run, retentionSeconds)
      }
      return (await purgeRows(run)).more
    },
  })
}

/** Runs one removal, which tells how much it removed. */
export type RunRemoval = <T extends number | boolean>(
  kind: 'partitions' | 'requests' | 'fences',
  remove: (sql: Sql | Tx) => Promise<T>,
) => Promise<T>

/** Purges one batch of each kind, and every partition that can be emptied. @returns how much of each kind was removed. */
export async function purgeBatch(
  database: Database,
  retentionSeconds: number,
  run: RunRemoval = inDatabase(database),
): Promise<Purged> {
  const partitions = await emptySlots(run, retentionSeconds)
  return { partitions, ...(await purgeRows(run)) }
}

function inDatabase(database: Database): RunRemoval {
  return (_kind, remove) => database.run(remove)
}

async function purgeRows(run: RunRemoval): Promise<Omit<Purged, 'partitions'>> {
  const requests = await run('requests', (sql) => purgePending(sql, BATCH_ROWS))
  const fences = await run('fences', (sql) => purgeMessageFences(sql, BATCH_ROWS))
  return { requests, fences, more: Math.max(requests, fences) === BATCH_ROWS }
}

/** @returns how many partitions were emptied. */
async function emptySlots(run: RunRemoval, retentionSeconds: number): Promise<number> {
  let partitions = 0
  for (const slot of SLOTS) if (await emptySlot(run, slot, retentionSeconds)) partitions += 1
  return partitions
}

/** @returns whether anything was removed. A slot that is in use at the moment is left for the next pass. */
async function emptySlot(run: RunRemoval, slot: number, retentionSeconds: number): Promise<boolean> {
  try {
    return await run('partitions', (sql) => truncateSlot(sql, { slot, retentionSeconds, waitMs: LOCK_WAIT_MS }))
  } catch (error) {
    if (isLockTimeout(error)) return false
    throw error
  }
}
