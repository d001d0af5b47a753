import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { LATE_MAX, type listLate as listLateCall } from '@svc/contracts/messaging.ts'
import type { Deps } from '../../deps.ts'
import { PUBLISH_LEASE_SECONDS } from '../../outbox/publisher.ts'
import { listLate as listLateLogs, listRevoked, nowMs } from '../../store/read/late.ts'

/** A row is usually marked as published within 150 ms (`MARK_LINGER_MS`). Past this time its publisher may have died. */
const LATE_SECONDS = 0.5
/** A revocation becomes visible at most this long after the time in its row: its statement may run for 4 s, and then commits. */
const OVERLAP_MS = 10_000

/** Lists logs whose latest entries may not have been published, and agents that were revoked since a time. */
export async function listLate(
  { database }: Pick<Deps, 'database'>,
  { revoked_since_ms: sinceMs }: RequestOf<typeof listLateCall>,
): Promise<ReplyOf<typeof listLateCall>> {
  // Read the clock first. A revocation that the next statement does not see yet has a later time than `beganMs - OVERLAP_MS`.
  const beganMs = await database.run(nowMs)
  const revoked = sinceMs === null ? [] : await database.run((sql) => listRevoked(sql, sinceMs, LATE_MAX.revoked + 1))
  const late = await database.run((sql) =>
    listLateLogs(sql, PUBLISH_LEASE_SECONDS - LATE_SECONDS, { maxRows: LATE_MAX.rows, maxEntries: LATE_MAX.entries }),
  )
  const next = { next_since_ms: beganMs - OVERLAP_MS }
  if (late === undefined || revoked.length > LATE_MAX.revoked)
    return { logs: [], revoked: [], is_complete: false, ...next }
  return { logs: late, revoked, is_complete: true, ...next }
}
