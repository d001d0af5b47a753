import type { AgentClient } from '@svc/sdk/client.ts'
import { explainError } from './explain-error.ts'
import type { Log } from './log.ts'

/** Messages that were not acknowledged. */
interface Unread {
  readonly inbox: number
  readonly requests: number
  /** True where a lane has more than its number. */
  readonly more: boolean
}

export interface UnreadCounter {
  /** @returns undefined where the service did not answer: no result fails because of a count. */
  count(signal: AbortSignal): Promise<Unread | undefined>
  /** The next count asks the service. */
  forget(): void
}

/** A lane is counted up to one page. */
const MAX_COUNTED = 100
/** Counts are as old as this at most; several calls in a row ask once. */
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
        // The count is an addition to a result, which must not fail because of it.
        if (!signal.aborted) log('unread.failed', { code: explainError(error).code })
        return undefined
      }
    },
    forget() {
      latest = undefined
    },
  }
}
