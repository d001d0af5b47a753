import { replayEvents } from '@svc/contracts/messaging.ts'
import type { Bus } from '@svc/nats/bus.ts'

export interface HistoryPage {
  readonly events: readonly { readonly cursor: number; readonly text: string }[]
  /** The last cursor that was examined, or `after` if there was none after it. */
  readonly next: number
  /** The cursor of the oldest event that is kept, or of the next event if none is kept (spec 9.6). */
  readonly earliest: number
  /** The last cursor that was ever appended (spec 9.6). */
  readonly latest: number
}

/** Reads the events of an agent after a cursor from messaging, which checks access at that moment. */
export interface History {
  /** @throws ServiceError `unavailable`. */
  read(question: HistoryQuestion): Promise<HistoryPage>
}

interface HistoryQuestion {
  readonly agentId: string
  readonly after: number
  /** At most `PAGE_EVENTS`. */
  readonly limit: number
  readonly traceparent: string
}

/** The maximum of events in a page. Messaging's own bound on the bytes of a page is nearly always reached before. */
export const PAGE_EVENTS = 100
const READ_LIMIT_MS = 2_500
const SEPARATOR = '\t'

export function createHistory(bus: Bus): History {
  return {
    async read({ agentId, after, limit, traceparent }) {
      const context = { traceparent, deadlineMs: Date.now() + READ_LIMIT_MS }
      const request = { agent_id: agentId, after, limit }
      const { meta, text } = await bus.callText(replayEvents, request, context)
      const texts = text === '' ? [] : text.split(SEPARATOR)
      if (texts.length !== meta.cursors.length) throw new Error('messaging must return one cursor per event')
      const events = meta.cursors.map((cursor, at) => ({ cursor, text: texts[at] ?? '' }))
      return { events, next: meta.next_cursor, earliest: meta.earliest, latest: meta.latest }
    },
  }
}
