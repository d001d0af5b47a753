import { setTimeout as sleep } from 'node:timers/promises'
import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { isMessageId } from '@svc/contracts/ids.ts'
import type { exportMessages as exportMessagesCall } from '@svc/contracts/messaging.ts'
import type { Deps } from '../deps.ts'
import { decodeCursor, encodeCursor, START } from '../domain/cursors.ts'
import { messageListText, takePage } from '../domain/pages.ts'
import { type ExportedPart, type ExportQuery, listExport } from '../store/export.ts'

type Request = RequestOf<typeof exportMessagesCall>
type Result = ReplyOf<typeof exportMessagesCall>

/** About a second together. A transaction takes milliseconds, so the first pause is nearly always the last. */
const PAUSES_MS = [5, 10, 20, 40, 80, 160, 320, 320]
/** Left of the deadline when the last look begins. */
const LAST_LOOK_MS = 500

/**
 * A page of all DMs that the agent sent or received, by acceptance, whatever became of its contacts since. What was
 * accepted before the call is in it (see `untilComplete`). @throws ServiceError `invalid_cursor`.
 */
export async function exportMessages(
  { database }: Pick<Deps, 'database'>,
  request: Request,
  context: CallContext,
): Promise<Result> {
  const { agent_id: agentId, thread_id: threadId, limit } = request
  const [batch, ordinal] = request.after === null ? START.export : decodeCursor('export', agentId, request.after)
  // What cannot be an id names nothing (decisions 21).
  if (threadId !== null && !isMessageId(threadId)) return { meta: {}, text: messageListText([], '') }

  const query = { agentId, threadId, after: { batch, ordinal }, limit: limit + 1 }
  const part = await untilComplete(database, query, context)
  const page = takePage(part.rows, limit)
  const last = page.rows.at(-1) ?? query.after
  // Messages that are there but not yet in a settled order are no end: the caller asks again from the last place.
  const nextCursor =
    page.more || part.newest !== null ? encodeCursor('export', agentId, [last.batch, last.ordinal]) : ''
  return { meta: {}, text: messageListText(page.texts, nextCursor) }
}

/**
 * The rows behind the cursor, with all that was accepted before the call. What was accepted just now can lie past the
 * horizon, behind which no page reaches, because an unrelated transaction that began before it is still under way. That one ends
 * in a moment, so this waits for it; where it does not end, the page ends before it and the cursor says that more is there.
 */
async function untilComplete(
  database: Deps['database'],
  query: ExportQuery,
  { deadlineMs }: CallContext,
): Promise<ExportedPart> {
  const look = (): Promise<ExportedPart> => database.run((sql) => listExport(sql, query))
  const first = await look()
  const newest = first.newest ?? 0
  let part = first
  for (const pauseMs of PAUSES_MS) {
    const isFull = part.rows.length >= query.limit
    if (isFull || part.horizon > newest || Date.now() + pauseMs + LAST_LOOK_MS > deadlineMs) break
    await sleep(pauseMs)
    part = await look()
  }
  return part
}
