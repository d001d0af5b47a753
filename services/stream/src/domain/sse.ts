/** The wire format. Source: spec 9.7. */

export const RETRY_FRAME = 'retry: 1000\n\n'

/** @param event an Event in JSON, which has no raw line feed. */
export function messageFrame(cursor: number, event: string): string {
  return `event: message\nid: ${cursor}\ndata: ${event}\n\n`
}

export function cursorFrame(cursor: number): string {
  return `event: cursor\nid: ${cursor}\ndata: {"cursor":${cursor}}\n\n`
}

/** An Event in JSON around a post's Message. Source: spec 9.1. */
export function postEvent(cursor: number, message: string): string {
  return `{"cursor":${cursor},"kind":"board","message":${message}}`
}
