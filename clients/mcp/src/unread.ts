import type { AgentClient } from '@svc/sdk/client.ts'
import type { Log } from './log.ts'
import { explainError } from './output/explain-error.ts'

/** Counts of messages that are not acknowledged. */
interface Unread {
  readonly inbox: number
  readonly requests: number
  /** True if a lane has more messages than its count. */
  readonly more: boolean
}

export interface UnreadCounter {
  /** @returns undefined if the service did not answer. A missing count must not make a result fail. */
  count(signal: AbortSignal): Promise<Unread | undefined>
  /** The next count is read from the service again. */
  forget(): void
}

/** A lane is counted up to one page. */
const MAX_COUNTED = 100
/** A count is reused for this long, so that several calls in a row read it only once. */
const FRESH_MS = 1_000

export function createUnreadCounter(
  { client, log }: { client: AgentClient; log: Log },
  nowMs: () => number = Date.now,
): UnreadCounter {
  let latest: { atMs: number; unread: Unread } | undefined
  return {
    async count(signal) {
      if (latest !== undefined && nowMs() - latest.atMs < FRESH_MS) return latest.unread
      try {
        const atMs = nowMs()
        const [inbox, requests] = await Promise.all(
          (['inbox', 'requests'] as const).map((lane) =>
            client.inbox({ lane, unacked: true, pageSize: MAX_COUNTED, signal }).page(),
          ),
        )
        const unread = {
          inbox: inbox?.items.length ?? 0,
          requests: requests?.items.length ?? 0,
          more: (inbox?.next ?? '') !== '' || (requests?.next ?? '') !== '',
        }
        latest = { atMs, unread }
        return unread
      } catch (error) {
        // A missing count must not make a result fail.
        if (!signal.aborted) log('unread.failed', { code: explainError(error).code })
        return undefined
      }
    },
    forget() {
      latest = undefined
    },
  }
}
