import { sleep } from '@svc/sdk/waiting.ts'
import { createLease } from '../watch/lease.ts'

/** Turns of all who work with one state folder, in this process and in others. */
interface Turns {
  /** Runs the work when no other holds the turn. Rejects with the signal's reason if that is aborted before. */
  take<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>
}

/** Between looks at a turn that another process has. */
const LOOK_MS = 50
/** Between renewals; well below the lease's `STALE_MS`. */
const RENEW_MS = 2_000

/** A machine under load may leave a process alone for long; its turn is still its own. */
const STUCK_MS = 120_000

/** @param path of the file that says which process has the turn. */
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
