import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import type { listEvents as listEventsCall } from '@svc/contracts/messaging.ts'
import type { Deps } from '../deps.ts'
import { eventText } from '../domain/event-text.ts'
import { eventsText, takePage } from '../domain/pages.ts'
import { listEvents as listRows } from '../store/events.ts'
import { listVisible } from '../visible.ts'

type Request = RequestOf<typeof listEventsCall>
type Result = ReplyOf<typeof listEventsCall>

/**
 * A page of live events by cursor. `next_cursor` is the last cursor examined, so that what was skipped is not examined
 * again (decisions 37); `earliest` is the oldest event that is left (decisions 51). Events of posts are for those who
 * subscribe to the board now: one that left or was banned is passed over (issue 3, Posts).
 */
export async function listEvents(
  { database, boards, retentionDays }: Pick<Deps, 'database' | 'boards' | 'retentionDays'>,
  { agent_id: agentId, after, limit }: Request,
  context: CallContext,
): Promise<Result> {
  const query = { agentId, after, limit: limit + 1 }
  const { part, rows, seenTo, more } = await listVisible({
    limit: query.limit,
    look: (withoutBoards) => database.run((sql) => listRows(sql, { ...query, withoutBoards })),
    allow: (boardIds) => boards.listSubscribed(agentId, boardIds, context),
  })
  const page = takePage(rows, limit, (row, message) => eventText(row.position, row.kind, message))
  // A page that is full has examined nothing behind its last event; a cursor from beyond the log stays as it is.
  const last = page.more ? page.rows.at(-1) : more ? seenTo : undefined
  const examined = last?.position ?? Math.max(part.examined, after)
  return { meta: { earliest: part.earliest }, text: eventsText(page.texts, examined, retentionDays) }
}
