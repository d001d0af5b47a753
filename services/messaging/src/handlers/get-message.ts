import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { getMessage as getMessageCall } from '@svc/contracts/messaging.ts'
import type { Deps } from '../deps.ts'
import { checkRead } from '../domain/board-access.ts'
import { textOfRow } from '../domain/pages.ts'
import { findMessage } from '../store/messages.ts'

type Request = RequestOf<typeof getMessageCall>
type Result = ReplyOf<typeof getMessageCall>

/**
 * A DM for its participants alone (decisions 36), a post for whoever may read its board, a hidden one for the board's owner
 * (decisions 28, 33): all others, and nobody, get the same 404 as for an unknown id.
 */
export async function getMessage(
  { database, boards }: Pick<Deps, 'database' | 'boards'>,
  { viewer, id }: Request,
  context: CallContext,
): Promise<Result> {
  const message = await database.run((sql) => findMessage(sql, viewer, id))
  if (message === undefined) throw new ServiceError('not_found')
  if (message.board !== null) checkRead(await boards.judge(message.board, viewer, context), message)
  return { meta: {}, text: textOfRow(message) }
}
