import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { getMessage as getMessageCall } from '@svc/contracts/messaging.ts'
import type { Deps } from '../../deps.ts'
import { textOfRow } from '../../domain/pages.ts'
import { findMessage } from '../../store/read/messages.ts'

type Request = RequestOf<typeof getMessageCall>
type Result = ReplyOf<typeof getMessageCall>

/**
 * Shows a DM to its participants (spec 7.10), a post to every reader of its board (spec 8.2), and a hidden post to the owner of
 * the board (spec 8.9). Everybody else, anonymous callers included, gets the same 404 as for an unknown id (spec 7.16).
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
