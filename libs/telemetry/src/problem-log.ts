/** A problem that lasts is said again this often. */
const AGAIN_MS = 60_000

/**
 * For what is tried again many times a second, of several servers in turn.
 * @returns a function that calls `log` unless it did so with the same text less than a minute ago.
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
