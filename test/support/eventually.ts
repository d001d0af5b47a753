import { setTimeout as sleep } from 'node:timers/promises'

const FIRST_PAUSE_MS = 20
/** A long wait is not worth fifty questions a second, which the processes that it waits for would have to answer as well. */
const MAX_PAUSE_MS = 100
const PAUSE_GROWTH = 1.2
/** So long that only what does not come at all is too late: a machine that others use as well may be slow. */
const PATIENCE_MS = 30_000

/**
 * Calls `check` until it neither throws nor answers false, and returns its answer.
 * @throws what `check` threw last, when the time is over.
 */
export async function eventually<T>(
  check: () => T | Promise<T>,
  { timeoutMs = PATIENCE_MS, what = 'the condition' }: { timeoutMs?: number; what?: string } = {},
): Promise<Exclude<T, false>> {
  const deadline = Date.now() + timeoutMs
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * PAUSE_GROWTH, MAX_PAUSE_MS)) {
    // Looks once more when the time is over: a process that stood still has not looked for long.
    const isLast = Date.now() > deadline
    let problem: unknown = new Error(`${what} did not come true in ${timeoutMs} ms`)
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

/** Asks again at once for as long as the answer is undefined. */
export async function untilDefined<T>(ask: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const answer = await ask()
    if (answer !== undefined) return answer
  }
}
