import type { CallContext, RequestOf } from '@svc/contracts/define.ts'
import type { listEvents as listEventsCall } from '@svc/contracts/messaging.ts'
import type { Deps } from '../../deps.ts'
import { eventText } from '../../domain/event-text.ts'
import { takePage } from '../../domain/pages.ts'
import { listEvents as listRows } from '../../store/read/events.ts'
import { listVisible } from './visible.ts'

/** A page of live events. */
interface EventPage {
  /** One event cursor for each text. */
  cursors: number[]
  /** One Event each, as JSON. */
  texts: string[]
  /** The last cursor examined. The next page starts here, so skipped events are not examined again (spec 9.4). */
  examined: number
  /** The cursor of the oldest live event (spec 9.6). */
  earliest: number
  /**
   * The last cursor ever appended when the page was read (spec 9.6). Lower than `examined` only if `after` was past
   * this cursor.
   */
  latest: number
}

/**
 * Reads the events after a cursor, for every call that lists events. The event of a post is shown if the agent may read the
 * board now, even if it left a public board or was banned from it (spec 9.5).
 */
export async function readEventPage(
  { database, boards }: Pick<Deps, 'database' | 'boards'>,
  { agent_id: agentId, after, limit }: RequestOf<typeof listEventsCall>,
  context: CallContext,
): Promise<EventPage> {
  const query = { agentId, after, limit: limit + 1 }
  const { part, rows, seenTo, more } = await listVisible({
    limit: query.limit,
    look: (withoutBoards) => database.run((sql) => listRows(sql, { ...query, withoutBoards })),
    allow: (boardIds) => boards.listReadable(agentId, boardIds, context),
  })
  const page = takePage(rows, limit, (row, message) => eventText(row.position, row.kind, message))
  // A full page has examined nothing after its last event. A cursor past the end of the log stays unchanged.
  const last = page.more ? page.rows.at(-1) : more ? seenTo : undefined
  return {
    cursors: page.rows.map(({ position }) => position),
    texts: page.texts,
    examined: last?.position ?? Math.max(part.examined, after),
    earliest: part.earliest,
    latest: part.latest,
  }
}
