import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import {
  ARRIVALS_MAX,
  type listArrivals as listArrivalsCall,
  type readArrivals as readArrivalsCall,
} from '@svc/contracts/messaging.ts'
import type { Deps } from '../../deps.ts'
import { eventText } from '../../domain/event-text.ts'
import { takePage } from '../../domain/pages.ts'
import { listArrivals as listRows, readArrivals as readRows } from '../../store/read/arrivals.ts'

/** Compact JSON never contains a tab. */
const SEPARATOR = '\t'

/** Lists the inbox entries of these logs after a position in each. */
export async function listArrivals(
  { database }: Pick<Deps, 'database'>,
  { logs }: RequestOf<typeof listArrivalsCall>,
): Promise<ReplyOf<typeof listArrivalsCall>> {
  return { logs: await database.run((sql) => listRows(sql, logs, ARRIVALS_MAX.entries)) }
}

/** Reads the events of inbox entries as they were published, as many as fit a page. */
export async function readArrivals(
  { database }: Pick<Deps, 'database'>,
  { entries }: RequestOf<typeof readArrivalsCall>,
): Promise<ReplyOf<typeof readArrivalsCall>> {
  const found = await database.run((sql) => readRows(sql, entries))
  const { rows, texts } = takePage(found, entries.length, (row, message) => eventText(row.cursor, 'inbox', message))
  return {
    meta: { looked_at: found[rows.length]?.index ?? entries.length, found: rows.map(({ index }) => index) },
    text: texts.join(SEPARATOR),
  }
}
