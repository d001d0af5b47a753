import { sleep } from '@svc/sdk/http/waiting.ts'
import { Lines } from '@svc/sdk/lines.ts'
import { Lease } from './lease.ts'

/** Interval between checks while another process has the turn. */
const LOOK_MS = 50
/** Interval between renewals. Well below the lease's `STALE_MS`. */
const RENEW_MS = 2_000
/** On an overloaded machine, a live process may get no CPU for a while. It keeps its turn for this long. */
const STUCK_MS = 120_000

/** A mutex for all calls of a state folder, in this process and in others. */
export class Turns {
  readonly #lease: Lease
  readonly #calls = new Lines(1)

  /** @param path the file of the lease. */
  constructor(path: string) {
    this.#lease = new Lease(path, STUCK_MS)
  }

  /** Runs the work when no other call has the turn. Rejects with the signal's reason if the signal is aborted before that. */
  runAlone<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.#calls.run('', () => this.#runWithLease(work, signal))
  }

  async #runWithLease<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted()
    while (!this.#lease.take()) await sleep(LOOK_MS, signal)
    const renewal = setInterval(() => this.#lease.renew(), RENEW_MS)
    try {
      return await work()
    } finally {
      clearInterval(renewal)
      this.#lease.release()
    }
  }
}
