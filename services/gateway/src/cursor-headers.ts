import { EventCursor } from '@svc/contracts/resources.ts'

/** Names in lower case. */
export const EARLIEST_CURSOR = 'x-svc-earliest-cursor'
export const LATEST_CURSOR = 'x-svc-latest-cursor'

/** Where the caller's log begins and ends. Source: spec 9.6. */
export interface LogEnds {
  readonly earliest: number | string
  /** Undefined: a process of the release before answered, which does not say. */
  readonly latest: number | string | undefined
}

/** As the OpenAPI description has them. */
export const CURSOR_HEADERS = {
  'X-SVC-Earliest-Cursor': {
    schema: EventCursor,
    description: 'Cursor of the oldest retained event; of the next one to come, where there is none',
    example: 1,
  },
  'X-SVC-Latest-Cursor': {
    schema: EventCursor,
    description:
      'The last cursor ever appended for the caller, whether its event is visible or not; 0 if none ever was. A client that wants new events alone begins after it',
    example: 42,
  },
} as const

export function cursorHeaders({ earliest, latest }: LogEnds): Record<string, string> {
  return { [EARLIEST_CURSOR]: String(earliest), ...(latest === undefined ? {} : { [LATEST_CURSOR]: String(latest) }) }
}
