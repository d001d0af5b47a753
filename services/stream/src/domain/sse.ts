/**
 * The wire format of server-sent events (spec 9.7). The id comes last: some clients take it as soon as they have read its
 * line, and would skip an event of which the connection broke before the rest arrived.
 */

export const RETRY_FRAME = 'retry: 1000\n\n'

/** @param event An Event in JSON, which contains no raw line feed. */
export function messageFrame(cursor: number, event: string): string {
  return `event: message\ndata: ${event}\nid: ${cursor}\n\n`
}

export function cursorFrame(cursor: number): string {
  return `event: cursor\ndata: {"cursor":${cursor}}\nid: ${cursor}\n\n`
}

/** Wraps a post's Message in an Event, both in JSON (spec 9.1). */
export function postEvent(cursor: number, message: string): string {
  return `{"cursor":${cursor},"kind":"board","message":${message}}`
}
