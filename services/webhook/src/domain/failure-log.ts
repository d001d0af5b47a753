/** A failed attempt as the log shows it. It has no path, query, secret or body, and no agent id (ADR 22). */
export interface FailedAttempt {
  readonly host: string
  readonly reason: string
  /** 1 for the first attempt. */
  readonly attempt: number
  readonly attempts: number
}

const WINDOW_MS = 60_000
/** Bound on lines per window, because anybody may set a webhook to an endpoint that fails. */
const MAX_LINES = 300

/**
 * Limits the log of failed attempts. The same attempt of a host failing for the same reason is one line a minute.
 * @param log `left_out` is how many failures of the minute before were not logged, if any.
 */
export function createFailureLog(
  log: (fields: FailedAttempt & { left_out?: number }) => void,
  now: () => number = () => performance.now(),
): (failed: FailedAttempt) => void {
  const said = new Set<string>()
  let endsMs = now() + WINDOW_MS
  let leftOut = 0
  return (failed) => {
    let before = 0
    if (now() >= endsMs) {
      endsMs = now() + WINDOW_MS
      said.clear()
      before = leftOut
      leftOut = 0
    }
    const key = `${failed.host} ${failed.attempt} ${failed.reason}`
    if (said.has(key) || said.size >= MAX_LINES) {
      leftOut += 1
      return
    }
    said.add(key)
    log(before > 0 ? { ...failed, left_out: before } : failed)
  }
}
