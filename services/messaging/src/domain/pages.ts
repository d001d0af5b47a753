import { LIMITS } from '@svc/contracts/limits.ts'
import { type MessageState, messageText } from './event-text.ts'

/** One message as the query of a list returns it. */
export interface ListedRow {
  lane: MessageState['lane']
  accepted_at: number
  expires_at: number
  acked: boolean
  /** Votes for a post. Absent in lists that hold only DMs, which have no votes (spec 7.8). */
  upvotes?: number
  /** Null if the envelopes before it already fill a page. Then it was not read. */
  envelope: string | null
}

interface Page<Row> {
  rows: Row[]
  /** One for each row. */
  texts: string[]
  /** There are more rows after this page. */
  more: boolean
}

/**
 * Takes the rows of one page: at most `limit` of them and at most `LIMITS.pageBytes` of text, but at least one (spec 7.9).
 * @param rows in order. The caller asks for `limit` + 1 rows, so an extra row shows that this is not the end.
 * @param textOf the text that the answer holds for a row. It gets the row and its Message as JSON.
 */
export function takePage<Row extends ListedRow>(
  rows: readonly Row[],
  limit: number,
  textOf: (row: Row, message: string) => string = (_row, message) => message,
): Page<Row> {
  const taken: Row[] = []
  const texts: string[] = []
  let bytes = 0
  for (const row of rows.slice(0, limit)) {
    if (row.envelope === null) break
    const text = textOf(row, messageText(row.envelope, stateOf(row)))
    bytes += Buffer.byteLength(text) + SEPARATOR_BYTES
    if (bytes > LIMITS.pageBytes && taken.length > 0) break
    taken.push(row)
    texts.push(text)
  }
  return { rows: taken, texts, more: taken.length < rows.length }
}

const SEPARATOR_BYTES = 1

/** The Message of a row as JSON. The row's envelope was read. */
export function textOfRow(row: ListedRow & { envelope: string }): string {
  return messageText(row.envelope, stateOf(row))
}

/** A MessageList as JSON (spec 7.9). @param nextCursor base64url; empty at the current end. */
export function messageListText(messages: readonly string[], nextCursor: string): string {
  return `{"messages":[${messages.join(',')}],"next_cursor":"${nextCursor}"}`
}

/** An Events object as JSON (spec 9.4). @param retentionDays may be a fraction, which is answered rounded up (spec 6.8). */
export function eventsText(events: readonly string[], nextCursor: number, retentionDays: number): string {
  return `{"events":[${events.join(',')}],"next_cursor":${nextCursor},"retention_days":${Math.ceil(retentionDays)}}`
}

function stateOf(row: ListedRow): MessageState {
  const { lane, accepted_at: acceptedAt, expires_at: expiresAt, acked, upvotes = 0 } = row
  return { lane, acceptedAt, expiresAt, acked, upvotes }
}
