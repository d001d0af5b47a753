import type { Event } from '@svc/contracts/resources.ts'
import type { AgentClient } from '@svc/sdk'

/** How far one tab has read the log of an agent. Gives each event to the views once, in order, wherever it came from. */
export interface Reader {
  readonly cursor: number
  take(event: Event): void
  /** Every event up to this cursor was taken, or is not visible to this agent. */
  skipTo(cursor: number): void
  /** Events up to `earliest` are gone. */
  skipGap(earliest: number): void
  /** Reads page by page to the end. A call during another call reads on when that has ended. Rejects like any call of the client. */
  catchUp(): Promise<void>
}

export interface ReaderOptions {
  readonly client: Pick<AgentClient, 'events'>
  readonly after: number
  readonly signal: AbortSignal
  readonly onEvent: (event: Event) => void
  /** Called whenever the cursor has moved, with the cursor before. `event` is absent if no event was visible. */
  readonly onMoved: (moved: { readonly after: number; readonly cursor: number; readonly event?: Event }) => void
  readonly onGap: (gap: { readonly after: number; readonly earliest: number }) => void
}

const PAGE_SIZE = 100

export function createReader({ client, after, signal, onEvent, onMoved, onGap }: ReaderOptions): Reader {
  let position = after
  let catching: Promise<void> | undefined
  let isAskedAgain = false

  const reader: Reader = {
    get cursor() {
      return position
    },
    take(event) {
      if (event.cursor <= position || signal.aborted) return
      const before = position
      position = event.cursor
      onEvent(event)
      onMoved({ after: before, cursor: position, event })
    },
    skipTo(cursor) {
      if (cursor <= position || signal.aborted) return
      const before = position
      position = cursor
      onMoved({ after: before, cursor })
    },
    skipGap(earliest) {
      onGap({ after: position, earliest })
      reader.skipTo(earliest - 1)
    },
    catchUp() {
      isAskedAgain = catching !== undefined
      catching ??= readToEnd().finally(() => {
        catching = undefined
      })
      return catching
    },
  }
  return reader

  async function readToEnd(): Promise<void> {
    do {
      isAskedAgain = false
      const pages = client.events({ after: position, pageSize: PAGE_SIZE, signal, onGap }).pages()
      for await (const { items, next } of pages) {
        for (const event of items) reader.take(event)
        reader.skipTo(next)
      }
    } while (isAskedAgain)
  }
}
