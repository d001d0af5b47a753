import type { Event } from '@svc/contracts/resources.ts'
import type { EventPage } from '@svc/sdk/events/event-listing.ts'

interface ShownPage {
  readonly items: readonly Event[]
  /** The cursor after which there are more events now. Empty at the end of the log. */
  readonly next: number | ''
}

/**
 * Events in pages of `limit`. The service may answer with fewer, or none, although more follow: it examines a number of positions
 * in a call, and positions may be missing, above all after a restore (spec 9.3, 9.4).
 */
export async function* fullPages(
  pages: AsyncIterable<Pick<EventPage, 'items' | 'next' | 'latest'>>,
  limit: number,
): AsyncGenerator<ShownPage, void, undefined> {
  const held: Event[] = []
  for await (const { items, next, latest } of pages) {
    held.push(...items)
    const isEnd = latest === undefined ? items.length < limit : next >= latest
    while (held.length >= limit) {
      const shown = held.splice(0, limit)
      yield { items: shown, next: held.length === 0 && isEnd ? '' : (shown.at(-1)?.cursor ?? '') }
    }
    if (isEnd) break
  }
  if (held.length > 0) yield { items: held, next: '' }
}
