import { setTimeout as sleep } from 'node:timers/promises'
import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { isMessageId } from '@svc/contracts/ids.ts'
import type { exportMessages as exportMessagesCall } from '@svc/contracts/messaging.ts'
import type { Deps } from '../../deps.ts'
import { decodeCursor, encodeCursor, START } from '../../domain/cursors.ts'
import { messageListText, takePage } from '../../domain/pages.ts'
import { type ExportedPart, type ExportQuery, findSettledBatch, listExport } from '../../store/read/export.ts'
import { listVisible } from './visible.ts'

type Request = RequestOf<typeof exportMessagesCall>
type Result = ReplyOf<typeof exportMessagesCall>

/** About a second in all. An append takes milliseconds, so the first or second pause is nearly always the last. */
const PAUSES_MS = [0, 5, 10, 20, 40, 80, 160, 320, 320]
/** The last query starts only if this much time is left before the deadline. */
const LAST_LOOK_MS = 500

/**
 * A page of the agent's messages in the order of acceptance: all DMs that it sent or received, even if its contacts have
 * changed since, and those of its posts that it may still read. Messages accepted before the call are included
 * (see `untilComplete`).
 * @throws ServiceError `invalid_cursor`.
 */
export async function exportMessages(
  { database, boards }: Pick<Deps, 'database' | 'boards'>,
  request: Request,
  context: CallContext,
): Promise<Result> {
  const { agent_id: agentId, thread_id: threadId, limit } = request
  const [batch, ordinal] = request.after === null ? START.export : decodeCursor('export', agentId, request.after)
  // A text that cannot be an id names no thread, so the list is empty (spec 7.12).
  if (threadId !== null && !isMessageId(threadId)) return { meta: {}, text: messageListText([], '') }

  const query = { agentId, threadId, after: { batch, ordinal }, limit: limit + 1 }
  const { part, rows, seenTo, more } = await listVisible({
    limit: query.limit,
    look: (withoutBoards) => untilComplete(database, { ...query, withoutBoards }, limit, context),
    allow: (boardIds) => boards.listReadable(agentId, boardIds, context),
  })
  const page = takePage(rows, limit)
  const last = (page.more ? undefined : seenTo) ?? page.rows.at(-1) ?? query.after
  // If there are messages whose order is not settled yet, this is not the end: the caller asks again from the last place.
  const isMore = page.more || more || part.newest !== null
  return {
    meta: {},
    text: messageListText(page.texts, isMore ? encodeCursor('export', agentId, [last.batch, last.ordinal]) : ''),
  }
}

/**
 * Reads the rows after the cursor until they include everything accepted before the call, or fill a page.
 *
 * No page reaches past the horizon, the oldest transaction in progress. So a message that was accepted just now may be past it.
 * If the oldest transaction is not an append, one query of the locks moves the horizon past it. If it is an append, it
 * usually ends within milliseconds, and this function waits for it. If it does not end in time, the page ends before it, and
 * the page's cursor says that there is more.
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
