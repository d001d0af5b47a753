import { askedFor, recordAudit } from '@svc/audit/audit.ts'
import type { raiseHeads as raiseHeadsCall } from '@svc/contracts/admin.ts'
import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { Deps } from '../../deps.ts'
import { previewRaise, raiseHeads as raise } from '../../store/operate/raise-heads.ts'

/**
 * Raises the heads of one batch of logs, above every cursor that clients may have seen before a restore (spec 9.3). The first
 * batch of a reference is recorded in the audit. It also moves the first position of logs that are opened later.
 */
export async function raiseHeads(
  { database }: Pick<Deps, 'database'>,
  request: RequestOf<typeof raiseHeadsCall>,
  context: Pick<CallContext, 'operator'>,
): Promise<ReplyOf<typeof raiseHeadsCall>> {
  const { reference, by, limit } = request
  if (request.dry_run) {
    const { logs, differs, done } = await database.transaction((tx) => previewRaise(tx, { reference, by }))
    if (differs) throw otherNumber()
    return { raised: done ? 0 : logs, logs, more: false }
  }
  const asked = askedFor(request, context)
  const { raised, logs, more, differs } = await database.transaction(async (tx) => {
    const batch = await raise(tx, { reference, by, limit })
    if (batch.began) await recordAudit(tx, 'messaging', { ...asked, action: 'raise-heads', reference, result: { by } })
    return batch
  })
  if (differs) throw otherNumber()
  return { raised, logs, more }
}

function otherNumber(): ServiceError {
  return new ServiceError('id_conflict', { detail: 'the reference was used to raise the heads by another number' })
}
