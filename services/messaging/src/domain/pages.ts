import { LIMITS } from '@svc/contracts/limits.ts'
import { type MessageState, messageText } from './event-text.ts'

/** What a list's query says of one message. */
export interface ListedRow {
  lane: MessageState['lane']
  accepted_at: number
  expires_at: number
  acked: boolean
  /** Of a post; absent where a list holds DMs alone, which have no votes (spec 7.8). */
  upvotes?: number
  /** Null where the envelopes before it fill a page: it was not read. */
  envelope: string | null
}

export interface Page<Row> {
  rows: Row[]
  /** One for each row. */
  texts: string[]
  /** There are more rows behind it. */
  more: boolean
}

/**
 * The rows of one page: `limit` at most, and as many as their bytes leave room for, at least one. Source: spec 7.9.
 * @param rows in order; one more than `limit` where there are more, which is how the end is known.
 * @param textOf what the answer holds for a row, around its Message in JSON.
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

/** A Message in JSON, of a row whose envelope was read. */
export function textOfRow(row: ListedRow & { envelope: string }): string {
  return messageText(row.envelope, stateOf(row))
}

/** A MessageList in JSON. @param nextCursor base64url; empty at the current end. Source: spec 7.9. */
export function messageListText(messages: readonly string[], nextCursor: string): string {
  return `{"messages":[${messages.join(',')}],"next_cursor":"${nextCursor}"}`
}

/** An Events in JSON. Source: spec 9.4. */
export function eventsText(events: readonly string[], nextCursor: number, retentionDays: number): string {
  return `{"events":[${events.join(',')}],"next_cursor":${nextCursor},"retention_days":${retentionDays}}`
}

function stateOf(row: ListedRow): MessageState {
  const { lane, accepted_at: acceptedAt, expires_at: expiresAt, acked, upvotes = 0 } = row
  return { lane, acceptedAt, expiresAt, acked, upvotes }
}
