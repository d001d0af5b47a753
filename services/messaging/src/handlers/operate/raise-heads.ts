import type { raiseHeads as raiseHeadsCall } from '@svc/contracts/admin.ts'
import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { Deps } from '../../deps.ts'
import { previewRaise, raiseHeads as raise } from '../../store/operate/raise-heads.ts'

/** Raises the heads of one batch of logs, above every cursor that clients may have seen before a restore (spec 9.3). */
export async function raiseHeads(
  { database }: Pick<Deps, 'database'>,
  { reference, by, limit, dry_run: dryRun }: RequestOf<typeof raiseHeadsCall>,
): Promise<ReplyOf<typeof raiseHeadsCall>> {
  if (dryRun) {
    const { logs, differs, done } = await database.transaction((tx) => previewRaise(tx, { reference, by }))
    if (differs) throw otherNumber()
    return { raised: done ? 0 : logs, logs, more: false }
  }
  const { raised, logs, more, differs } = await database.transaction((tx) => raise(tx, { reference, by, limit }))
  if (differs) throw otherNumber()
  return { raised, logs, more }
}

function otherNumber(): ServiceError {
  return new ServiceError('id_conflict', { detail: 'the reference was used to raise the heads by another number' })
}
