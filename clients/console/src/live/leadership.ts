/**
 * Which tab leads. The leader holds a lock, which the browser frees when the tab closes or crashes. A frozen tab keeps its lock,
 * so the leader sends heartbeats, and a follower that misses them steals the lock.
 */

/** The parts of `navigator.locks` that are used here. */
export interface Locks {
  request(
    name: string,
    options: { readonly signal?: AbortSignal; readonly steal?: boolean },
    hold: () => Promise<void>,
  ): Promise<void>
}

interface LeadershipOptions {
  readonly name: string
  readonly locks: Locks
  /** Ends the leadership, and the wait for it. */
  readonly signal: AbortSignal
  /** Leads until `term` is aborted. Rejects if nobody can lead. */
  readonly lead: (term: AbortSignal) => Promise<void>
  /** Called every few seconds while this tab leads. */
  readonly showLife: () => void
  /** Called with the error if `lead` or the request of the lock fails. */
  readonly onFailure: (error: unknown) => void
}

/** The leader shows a life sign, and a follower counts, this often. */
export const BEAT_MS = 3_000
/** Counts ticks of its own timer and not the time, because a follower may have been frozen itself. 6 ticks are 18 s. */
const MISSED_BEATS = 6

export class Leadership {
  readonly #options: LeadershipOptions
  #waiting = new AbortController()
  #isLeading = false
  #missed = 0

  constructor(options: LeadershipOptions) {
    this.#options = options
    const timer = setInterval(() => this.#beat(), BEAT_MS)
    options.signal.addEventListener('abort', () => clearInterval(timer))
    this.#waitForTurn()
  }

  get isLeading(): boolean {
    return this.#isLeading
  }

  /** Call this for everything that a leader says. */
  hear(): void {
    this.#missed = 0
  }

  #beat(): void {
    if (this.#isLeading) {
      this.#options.showLife()
      return
    }
    this.#missed += 1
    if (this.#missed < MISSED_BEATS) return
    this.#missed = 0
    // Cancels this tab's queued request. Otherwise the request stays in the queue behind the lock that this tab steals.
    this.#waiting.abort()
    this.#request({ steal: true })
  }

  #waitForTurn(): void {
    this.#missed = 0
    this.#waiting = new AbortController()
    this.#request({ signal: AbortSignal.any([this.#options.signal, this.#waiting.signal]) })
  }

  #request(how: { readonly signal?: AbortSignal; readonly steal?: boolean }): void {
    const { name, locks, signal, lead, onFailure } = this.#options
    const term = new AbortController()
    const hold = async (): Promise<void> => {
      if (signal.aborted) return
      this.#isLeading = true
      await lead(AbortSignal.any([signal, term.signal]))
    }
    locks.request(name, how, hold).catch((error: unknown) => {
      term.abort(error)
      if (signal.aborted || how.signal?.aborted) return
      const wasStolen = error instanceof DOMException && error.name === 'AbortError'
      this.#isLeading = false
      if (wasStolen) this.#waitForTurn()
      else onFailure(error)
    })
  }
}
