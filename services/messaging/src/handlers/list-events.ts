import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import type { listEvents as listEventsCall } from '@svc/contracts/messaging.ts'
import type { Deps } from '../deps.ts'
import { eventText } from '../domain/event-text.ts'
import { eventsText, takePage } from '../domain/pages.ts'
import { listEvents as listRows } from '../store/events.ts'

type Request = RequestOf<typeof listEventsCall>
type Result = ReplyOf<typeof listEventsCall>

/**
 * A page of live events by cursor. `next_cursor` is the last cursor examined, so that what was skipped is not examined
 * again (decisions 37); `earliest` is the oldest event that is left (decisions 51).
 */
export async function listEvents(
  { database, retentionDays }: Pick<Deps, 'database' | 'retentionDays'>,
  { agent_id: agentId, after, limit }: Request,
): Promise<Result> {
  const part = await database.run((sql) => listRows(sql, { agentId, after, limit: limit + 1 }))
  const page = takePage(part.rows, limit, (row, message) => eventText(row.position, row.kind, message))
  const last = page.rows.at(-1)
  // A page that is full has examined nothing behind its last event; a cursor from beyond the log stays as it is.
  const examined = page.more && last !== undefined ? last.position : Math.max(part.examined, after)
  return { meta: { earliest: part.earliest }, text: eventsText(page.texts, examined, retentionDays) }
}
