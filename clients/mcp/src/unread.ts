import type { Message } from '@svc/contracts/resources.ts'
import type { AgentClient } from '@svc/sdk/client.ts'
import type { Page } from '@svc/sdk/http/listing.ts'
import type { Log } from './log.ts'
import { explainError } from './output/explain-error.ts'

/** Counts of messages that are not acknowledged. */
interface Unread {
  readonly inbox: number
  readonly requests: number
  /** True if a lane has more messages than its count. */
  readonly more: boolean
}

/** A lane is counted up to one page. */
const MAX_COUNTED = 100
/** A count is reused for this long, so that several calls in a row read it only once. */
const FRESH_MS = 1_000

export class UnreadCounter {
  readonly #client: AgentClient
  readonly #log: Log
  #latest: { atMs: number; unread: Unread } | undefined

  constructor(client: AgentClient, log: Log) {
    this.#client = client
    this.#log = log
  }

  /** @returns undefined if the service did not answer. A missing count must not make a result fail. */
  async count(signal: AbortSignal): Promise<Unread | undefined> {
    const atMs = Date.now()
    if (this.#latest !== undefined && atMs - this.#latest.atMs < FRESH_MS) return this.#latest.unread
    try {
      const [inbox, requests] = await Promise.all([
        this.#firstPage('inbox', signal),
        this.#firstPage('requests', signal),
      ])
      const more = inbox.next !== '' || requests.next !== ''
      const unread = { inbox: inbox.items.length, requests: requests.items.length, more }
      this.#latest = { atMs, unread }
      return unread
    } catch (error) {
      if (!signal.aborted) this.#log('unread.failed', { code: explainError(error).code })
      return undefined
    }
  }

  /** The next count is read from the service again. */
  forget(): void {
    this.#latest = undefined
  }

  #firstPage(lane: 'inbox' | 'requests', signal: AbortSignal): Promise<Page<Message>> {
    return this.#client.inbox({ lane, unacked: true, pageSize: MAX_COUNTED, signal }).page()
  }
}
