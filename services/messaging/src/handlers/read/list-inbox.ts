import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { isMessageId } from '@svc/contracts/ids.ts'
import type { listInbox as listInboxCall } from '@svc/contracts/messaging.ts'
import type { Deps } from '../../deps.ts'
import { decodeCursor, encodeCursor, START } from '../../domain/cursors.ts'
import { messageListText, takePage } from '../../domain/pages.ts'
import { listInbox as listRows } from '../../store/read/inbox.ts'

type Request = RequestOf<typeof listInboxCall>
type Result = ReplyOf<typeof listInboxCall>

/** A page of one lane, by event cursor (spec 7.9). @throws ServiceError `invalid_cursor`. */
export async function listInbox({ database }: Pick<Deps, 'database'>, request: Request): Promise<Result> {
  const { agent_id: agentId, lane, unacked, thread_id: threadId, limit } = request
  const [after] = request.after === null ? START.inbox : decodeCursor('inbox', agentId, request.after)
  // A text that cannot be an id names no thread, so the list is empty (spec 7.12).
  if (threadId !== null && !isMessageId(threadId)) return { meta: {}, text: messageListText([], '') }
  const query = { agentId, lane, unacked, threadId, after, limit: limit + 1 }
  const page = takePage(await database.run((sql) => listRows(sql, query)), limit)
  const last = page.rows.at(-1)
  const nextCursor = page.more && last !== undefined ? encodeCursor('inbox', agentId, [last.position]) : ''
  return { meta: {}, text: messageListText(page.texts, nextCursor) }
}
