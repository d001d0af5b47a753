/** A timer of more milliseconds ends at once. */
const LONGEST_MS = 2 ** 31 - 1

/** Waits. Rejects with the signal's reason if the signal is aborted first. */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const elapsed = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.min(ms, LONGEST_MS))
  })
  return untilAborted(elapsed, signal).finally(() => clearTimeout(timer))
}

/** Settles like the promise. Rejects with the signal's reason if the signal is aborted first. */
export function untilAborted<T>(promise: Promise<T> | T, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return Promise.resolve(promise)
  return new Promise<T>((resolve, reject) => {
    const stop = (): void => reject(signal.reason)
    const unlink = linkAbort(signal, stop)
    Promise.resolve(promise).then(resolve, reject).finally(unlink)
  })
}

/**
 * Calls `stop` when the signal aborts, or now if it has. Used instead of `AbortSignal.any`, which Safari lacks before 17.4.
 * @returns forgets `stop`.
 */
export function linkAbort(signal: AbortSignal | undefined, stop: () => void): () => void {
  if (signal?.aborted) stop()
  signal?.addEventListener('abort', stop, { once: true })
  return () => signal?.removeEventListener('abort', stop)
}

/** @returns stops the timer. */
export function abortAfter(
  connection: AbortController,
  timeoutMs: number,
  reason: () => Error = () => new DOMException('timed out', 'TimeoutError'),
): () => void {
  const stop = (): void => connection.abort(reason())
  const timer = setTimeout(stop, Math.min(timeoutMs, LONGEST_MS))
  return () => clearTimeout(timer)
}
