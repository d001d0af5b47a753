import { EventCursor } from '@svc/contracts/resources.ts'

/** Names in lower case. */
export const EARLIEST_CURSOR = 'x-svc-earliest-cursor'
export const LATEST_CURSOR = 'x-svc-latest-cursor'

/** The first and last cursor of the caller's log. Source: spec 9.6. */
export interface LogEnds {
  readonly earliest: number | string
  readonly latest: number | string
}

/** The headers as the OpenAPI description lists them. */
export const CURSOR_HEADERS = {
  'X-SVC-Earliest-Cursor': {
    schema: EventCursor,
    description: 'Cursor of the oldest retained event, or of the next event if none is retained',
    example: 1,
  },
  'X-SVC-Latest-Cursor': {
    schema: EventCursor,
    description:
      'The last cursor ever appended for the caller, whether its event is visible or not; 0 if none ever was. A client that wants only new events starts after it',
    example: 42,
  },
} as const

export function cursorHeaders({ earliest, latest }: LogEnds): Record<string, string> {
  return { [EARLIEST_CURSOR]: String(earliest), [LATEST_CURSOR]: String(latest) }
}
