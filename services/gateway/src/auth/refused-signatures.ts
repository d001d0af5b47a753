import type { SecurityLog } from '@svc/telemetry/security-log.ts'
import { LRUCache } from 'lru-cache'

/** Past this number, the agent whose signature was refused longest ago is forgotten. */
const MAX_KEYS = 10_000
const WINDOW_SECONDS = 60
/** Fewer refusals in a window are clients with a wrong authority or a proxy that changes requests. */
const MIN_REFUSALS = 20

/**
 * Counts false signatures under the id of a registered agent. At the end of each window, an agent with many of them is one security
 * event, so a flood makes few lines. Each gateway counts for itself.
 */
export class RefusedSignatures implements Disposable {
  readonly #log: SecurityLog<'signatures_refused'>
  readonly #counts = new LRUCache<string, number>({ max: MAX_KEYS })
  #windowEnd: NodeJS.Timeout | undefined

  constructor(log: SecurityLog<'signatures_refused'>) {
    this.#log = log
  }

  note(agentId: string): void {
    this.#counts.set(agentId, (this.#counts.get(agentId) ?? 0) + 1)
    this.#windowEnd ??= setTimeout(() => this.#endWindow(), WINDOW_SECONDS * 1_000).unref()
  }

  /** Ends the window early, so that a gateway that stops reports what it has counted. */
  [Symbol.dispose](): void {
    this.#endWindow()
  }

  #endWindow(): void {
    clearTimeout(this.#windowEnd)
    this.#windowEnd = undefined
    for (const [agentId, count] of this.#counts.entries()) {
      if (count >= MIN_REFUSALS) {
        this.#log.note('signatures_refused', agentId, { count, window_seconds: WINDOW_SECONDS })
      }
    }
    this.#counts.clear()
  }
}
