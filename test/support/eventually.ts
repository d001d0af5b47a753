import { setTimeout as sleep } from 'node:timers/promises'

const FIRST_PAUSE_MS = 20
/** Upper limit of the pause between checks. More frequent checks would load the processes that the test waits for. */
const MAX_PAUSE_MS = 100
const PAUSE_GROWTH = 1.2
/** Long enough for a slow, shared machine, so that only a condition that never holds times out. */
const PATIENCE_MS = 60_000

/**
 * Calls `check` until it neither throws nor returns false, and returns its result.
 * @throws the last error of `check` after the timeout.
 */
export async function eventually<T>(
  check: () => T | Promise<T>,
  { timeoutMs = PATIENCE_MS, what = 'the condition' }: { timeoutMs?: number; what?: string } = {},
): Promise<Exclude<T, false>> {
  const deadline = Date.now() + timeoutMs
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * PAUSE_GROWTH, MAX_PAUSE_MS)) {
    // Check once more after the timeout, because this process may have been paused.
    const isLast = Date.now() > deadline
    let problem: unknown = new Error(`${what} was still false after ${timeoutMs} ms`)
    try {
      const answer = await check()
      if (answer !== false) return answer as Exclude<T, false>
    } catch (error) {
      problem = error
    }
    if (isLast) throw problem
    await sleep(pauseMs)
  }
}

/** Retries at once while the result is undefined. */
export async function untilDefined<T>(ask: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const answer = await ask()
    if (answer !== undefined) return answer
  }
}
