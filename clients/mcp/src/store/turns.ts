import { sleep } from '@svc/sdk/http/waiting.ts'
import { createLease } from '../watch/lease.ts'

/** A mutex for all calls of a state folder, in this process and in others. */
interface Turns {
  /** Runs the work when no other call has the turn. Rejects with the signal's reason if the signal is aborted before that. */
  take<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>
}

/** Interval between checks while another process has the turn. */
const LOOK_MS = 50
/** Interval between renewals. Well below the lease's `STALE_MS`. */
const RENEW_MS = 2_000

/** On an overloaded machine, a live process may get no CPU for a while. It keeps its turn for this long. */
const STUCK_MS = 120_000

/** @param path the file of the lease. */
export function createTurns(path: string): Turns {
  const lease = createLease(path, STUCK_MS)
  let last: Promise<unknown> = Promise.resolve()

  async function alone<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted()
    while (!lease.take()) await sleep(LOOK_MS, signal)
    const renewal = setInterval(() => lease.renew(), RENEW_MS)
    try {
      return await work()
    } finally {
      clearInterval(renewal)
      lease.release()
    }
  }

  return {
    take(work, signal) {
      const turn = last.then(() => alone(work, signal))
      last = turn.catch(() => undefined)
      return turn
    },
  }
}
