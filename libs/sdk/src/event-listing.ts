import type { Event, Events } from '@svc/contracts/resources.ts'
import { AnswerError } from './errors.ts'

export interface EventPage {
  readonly items: Event[]
  /** The `after` with which to go on; also where all that was examined is skipped (expired, hidden), and nothing is returned. */
  readonly next: number
  /** The oldest cursor that the service still has, or the next one to come; undefined where the answer did not say. */
  readonly earliest: number | undefined
  /** Days that events are kept. */
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
  /** Cursor of the last event that was dealt with; default 0, from the oldest that is kept. */
  readonly after?: number | undefined
  /**
   * Called before the first event where some between `after` and it can no longer be had. Not called for `after` 0,
   * which asks for what there is.
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
    const earliest = earliestOf(headers)
    if (after === start && after > 0 && earliest !== undefined && earliest > after + 1) onGap?.({ after, earliest })
    return { items: value.events, next: value.next_cursor, earliest, retentionDays: value.retention_days }
  }

  async function* pages(): AsyncGenerator<EventPage, void, undefined> {
    let after = start
    for (;;) {
      const current = await page(after)
      let last = after
      for (const { cursor } of current.items) {
        if (cursor <= last || cursor > current.next)
          throw new AnswerError('the events are not in the order of their cursors')
        last = cursor
      }
      yield current
      if (current.next === after) return
      if (current.next < after) throw new AnswerError('the events go back: the next cursor is before the one given')
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

const EARLIEST_CURSOR_HEADER = 'x-svc-earliest-cursor'

/** decisions 51; undefined where the answer did not say. */
export function earliestOf(headers: Headers): number | undefined {
  const header = headers.get(EARLIEST_CURSOR_HEADER)
  return header !== null && /^\d{1,15}$/.test(header) ? Number(header) : undefined
}
