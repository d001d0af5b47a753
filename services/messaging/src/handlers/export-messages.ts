import { setTimeout as sleep } from 'node:timers/promises'
import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { isMessageId } from '@svc/contracts/ids.ts'
import type { exportMessages as exportMessagesCall } from '@svc/contracts/messaging.ts'
import type { Deps } from '../deps.ts'
import { decodeCursor, encodeCursor, START } from '../domain/cursors.ts'
import { messageListText, takePage } from '../domain/pages.ts'
import { type ExportedPart, type ExportQuery, findSettledBatch, listExport } from '../store/export.ts'
import { listVisible } from '../visible.ts'

type Request = RequestOf<typeof exportMessagesCall>
type Result = ReplyOf<typeof exportMessagesCall>

/** About a second together. An append takes milliseconds, so the first or second is nearly always the last. */
const PAUSES_MS = [0, 5, 10, 20, 40, 80, 160, 320, 320]
/** Left of the deadline when the last look begins. */
const LAST_LOOK_MS = 500

/**
 * A page of all DMs that the agent sent or received, whatever became of its contacts since, and of its posts that it may
 * still read, by acceptance. What was accepted before the call is in it (see `untilComplete`).
 * @throws ServiceError `invalid_cursor`.
 */
export async function exportMessages(
  { database, boards }: Pick<Deps, 'database' | 'boards'>,
  request: Request,
  context: CallContext,
): Promise<Result> {
  const { agent_id: agentId, thread_id: threadId, limit } = request
  const [batch, ordinal] = request.after === null ? START.export : decodeCursor('export', agentId, request.after)
  // What cannot be an id names no thread, so its list is empty (spec 7.12).
  if (threadId !== null && !isMessageId(threadId)) return { meta: {}, text: messageListText([], '') }

  const query = { agentId, threadId, after: { batch, ordinal }, limit: limit + 1 }
  const { part, rows, seenTo, more } = await listVisible({
    limit: query.limit,
    look: (withoutBoards) => untilComplete(database, { ...query, withoutBoards }, limit, context),
    allow: (boardIds) => boards.listReadable(agentId, boardIds, context),
  })
  const page = takePage(rows, limit)
  const last = (page.more ? undefined : seenTo) ?? page.rows.at(-1) ?? query.after
  // Messages that are there but not yet in a settled order are no end: the caller asks again from the last place.
  const isMore = page.more || more || part.newest !== null
  return {
    meta: {},
    text: messageListText(page.texts, isMore ? encodeCursor('export', agentId, [last.batch, last.ordinal]) : ''),
  }
}

/**
 * The rows behind the cursor, with all that was accepted before the call, or a full page of them. What was accepted just
 * now can lie past the horizon, behind which no page reaches, because a transaction that began before it is still under
 * way. Where that is no append, one look at the locks tells; where it is, it ends in a moment and is waited for. Where it
 * does not end, the page ends before it, and its cursor says that more is there.
 */
async function untilComplete(
  database: Deps['database'],
  query: Omit<ExportQuery, 'settled'>,
  limit: number,
  { deadlineMs }: CallContext,
): Promise<ExportedPart> {
  let part = await database.run((sql) => listExport(sql, { ...query, settled: 0 }))
  const newest = part.newest ?? 0
  for (const pauseMs of PAUSES_MS) {
    const isComplete = part.horizon > newest || part.rows.length >= limit
    if (isComplete || Date.now() + pauseMs + LAST_LOOK_MS > deadlineMs) break
    await sleep(pauseMs)
    const settled = await database.run(findSettledBatch)
    part = await database.run((sql) => listExport(sql, { ...query, settled }))
  }
  return part
}
