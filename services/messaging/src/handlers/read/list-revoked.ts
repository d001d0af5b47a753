import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { type listRevoked as listRevokedCall, REVOKED_MAX } from '@svc/contracts/messaging.ts'
import type { Deps } from '../../deps.ts'
import { listRevoked as listRows, nowMs } from '../../store/read/revoked.ts'

/** A revocation becomes visible at most this long after the time in its row: its statement may run for 4 s, and then commits. */
const OVERLAP_MS = 10_000

/** Lists agents that were revoked or suspended since a time. */
export async function listRevoked(
  { database }: Pick<Deps, 'database'>,
  { since_ms: sinceMs }: RequestOf<typeof listRevokedCall>,
): Promise<ReplyOf<typeof listRevokedCall>> {
  // Read the clock first. A revocation that the next statement does not see yet has a later time than `beganMs - OVERLAP_MS`.
  const beganMs = await database.run(nowMs)
  const revoked = sinceMs === null ? [] : await database.run((sql) => listRows(sql, sinceMs, REVOKED_MAX + 1))
  const isComplete = revoked.length <= REVOKED_MAX
  return { revoked: isComplete ? revoked : [], is_complete: isComplete, next_since_ms: beganMs - OVERLAP_MS }
}
