import { askedFor, recordAudit } from '@svc/audit/audit.ts'
import type { takedownMessage as takedownCall } from '@svc/contracts/admin.ts'
import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { Deps } from '../../deps.ts'
import { lockMessage, setTakenDown } from '../../store/operate/takedown.ts'

/** Takes a message down for everybody, or restores it (spec 12.4), and records who did. */
export async function takedownMessage(
  { database }: Pick<Deps, 'database'>,
  request: RequestOf<typeof takedownCall>,
  context: Pick<CallContext, 'operator'>,
  takenDown: boolean,
): Promise<ReplyOf<typeof takedownCall>> {
  const { id, dry_run: dryRun, reference = null } = request
  const asked = dryRun ? undefined : askedFor(request, context)
  return database.transaction(async (tx) => {
    const message = await lockMessage(tx, id)
    if (message === undefined) throw new ServiceError('not_found', { detail: `no live message has the id ${id}` })
    const isPost = message.lane === 'board'
    const kind = isPost ? 'post' : 'message'
    const changed = message.takenDown !== takenDown
    if (changed && asked !== undefined) {
      await setTakenDown(tx, id, takenDown)
      const action = takenDown ? 'takedown' : 'restore'
      await recordAudit(tx, 'messaging', { ...asked, action, target: id, reference, result: { kind } })
    }
    return { kind, changed, recipient: isPost ? null : message.recipient }
  }, id)
}
