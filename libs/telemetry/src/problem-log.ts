/** How often a lasting problem is logged again. */
const AGAIN_MS = 60_000

/**
 * Limits the log of an operation that is retried many times a second, perhaps on several servers in turn.
 * @returns a function that calls `log`, unless it logged the same text less than a minute ago.
 */
export function sayOnce(log: (text: string) => void): (text: string) => void {
  const saidMs = new Map<string, number>()
  return (text) => {
    const nowMs = performance.now()
    for (const [said, atMs] of saidMs) if (nowMs - atMs >= AGAIN_MS) saidMs.delete(said)
    if (saidMs.has(text)) return
    saidMs.set(text, nowMs)
    log(text)
  }
}
