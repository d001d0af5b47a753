import type { Event, Events } from '@svc/contracts/resources.ts'
import { AnswerError } from '../errors.ts'

/** Where the log of an agent begins and ends. Undefined if the service did not say. */
export interface LogEnds {
  /** The oldest cursor that the service still has. If there is none, the next cursor that it will assign. */
  readonly earliest: number | undefined
  /** The last cursor ever assigned to an event of the agent, even if that event is gone. 0 if there was none. */
  readonly latest: number | undefined
}

export interface EventPage extends LogEnds {
  readonly items: Event[]
  /** Pass it as `after` to continue. It advances even if every event of the page was skipped (expired or hidden). */
  readonly next: number
  /** How long events are kept, in days. */
  readonly retentionDays: number
}

/** Events with cursors from `after + 1` to `earliest - 1` existed and are gone: expired, or older than the retention. */
export interface EventGap {
  readonly after: number
  readonly earliest: number
}

export interface EventListing extends AsyncIterable<Event> {
  page(): Promise<EventPage>
  pages(): AsyncIterable<EventPage>
}

export interface EventOptions {
  /** Cursor of the last event that you processed. Default 0: from the oldest event that is kept. */
  readonly after?: number | undefined
  /**
   * Called before the first event if events between `after` and it are gone. Not called for `after` 0, which asks for
   * everything that is kept.
   */
  readonly onGap?: ((gap: EventGap) => void) | undefined
}

/** @param readPage asks for the events after a cursor. */
export function createEventListing(
  readPage: (after: number) => Promise<{ value: Events; headers: Headers }>,
  { after: start = 0, onGap }: EventOptions,
): EventListing {
  async function page(after: number): Promise<EventPage> {
    const { value, headers } = await readPage(after)
    const ends = endsOf(headers)
    const { earliest } = ends
    if (after === start && after > 0 && earliest !== undefined && earliest > after + 1) onGap?.({ after, earliest })
    return { items: value.events, next: value.next_cursor, ...ends, retentionDays: value.retention_days }
  }

  async function* pages(): AsyncGenerator<EventPage, void, undefined> {
    let after = start
    for (;;) {
      const current = await page(after)
      let last = after
      for (const { cursor } of current.items) {
        if (cursor <= last || cursor > current.next) throw new AnswerError('the events are not sorted by cursor')
        last = cursor
      }
      yield current
      if (current.next === after) return
      if (current.next < after)
        throw new AnswerError('the events go backwards: next_cursor is below the cursor of the request')
      after = current.next
    }
  }

  return {
    page: () => page(start),
    pages,
    async *[Symbol.asyncIterator]() {
      for await (const { items } of pages()) yield* items
    },
  }
}

/** Reads from the headers where the caller's log begins and ends (spec 9.6). */
export function endsOf(headers: Headers): LogEnds {
  return { earliest: cursorOf(headers, 'x-svc-earliest-cursor'), latest: cursorOf(headers, 'x-svc-latest-cursor') }
}

function cursorOf(headers: Headers, name: string): number | undefined {
  const header = headers.get(name)
  return header !== null && /^\d{1,15}$/.test(header) ? Number(header) : undefined
}
