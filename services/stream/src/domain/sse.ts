/** The wire format of server-sent events (spec 9.7). */

export const RETRY_FRAME = 'retry: 1000\n\n'

/** @param event An Event in JSON, which contains no raw line feed. */
export function messageFrame(cursor: number, event: string): string {
  return `event: message\nid: ${cursor}\ndata: ${event}\n\n`
}

export function cursorFrame(cursor: number): string {
  return `event: cursor\nid: ${cursor}\ndata: {"cursor":${cursor}}\n\n`
}

/** Wraps a post's Message in an Event, both in JSON (spec 9.1). */
export function postEvent(cursor: number, message: string): string {
  return `{"cursor":${cursor},"kind":"board","message":${message}}`
}
