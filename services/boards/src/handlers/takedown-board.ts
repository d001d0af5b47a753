import { askedFor, recordAudit } from '@svc/audit/audit.ts'
import type { takedownBoard as takedownCall } from '@svc/contracts/admin.ts'
import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { BoardsDeps } from '../deps.ts'
import { lockAnyBoard, setTakenDown } from '../store/takedown.ts'

/** Takes a board down for everybody, or restores it (spec 12.4), and records who did. */
export async function takedownBoard(
  { database }: Pick<BoardsDeps, 'database'>,
  request: RequestOf<typeof takedownCall>,
  context: Pick<CallContext, 'operator'>,
  takenDown: boolean,
): Promise<ReplyOf<typeof takedownCall>> {
  const { board_id: id, dry_run: dryRun, reference = null } = request
  const asked = dryRun ? undefined : askedFor(request, context)
  return database.transaction(async (tx) => {
    const board = await lockAnyBoard(tx, id)
    if (board === undefined) throw new ServiceError('not_found', { detail: `no board has the id ${id}` })
    const changed = board.takenDown !== takenDown
    if (changed && asked !== undefined) {
      await setTakenDown(tx, id, takenDown)
      const action = takenDown ? 'takedown' : 'restore'
      await recordAudit(tx, 'boards', { ...asked, action, target: id, reference, result: { kind: 'board' } })
    }
    return { changed }
  }, id)
}
