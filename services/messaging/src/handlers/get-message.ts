import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { getMessage as getMessageCall } from '@svc/contracts/messaging.ts'
import type { Deps } from '../deps.ts'
import { textOfRow } from '../domain/pages.ts'
import { findMessage } from '../store/messages.ts'

type Request = RequestOf<typeof getMessageCall>
type Result = ReplyOf<typeof getMessageCall>

/**
 * A DM for its participants alone (spec 7.10), a post for whoever may read its board (spec 8.2), a hidden one for the board's
 * owner (spec 8.9): all others, and nobody, get the same 404 as for an unknown id (spec 7.16).
 */
export async function getMessage(
  { database, boards }: Pick<Deps, 'database' | 'boards'>,
  { viewer, id }: Request,
  context: CallContext,
): Promise<Result> {
  const message = await database.run((sql) => findMessage(sql, viewer, id))
  if (message === undefined) throw new ServiceError('not_found')
  const { board, hidden } = message
  if (board !== null) {
    const isShown = hidden
      ? (await boards.judge(board, viewer, context)).may_moderate
      : await boards.mayRead(board, viewer, context)
    if (!isShown) throw new ServiceError('not_found')
  }
  return { meta: {}, text: textOfRow(message) }
}
