/** Waits. Rejects with the signal's reason if the signal is aborted first. */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const elapsed = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  return untilAborted(elapsed, signal).finally(() => clearTimeout(timer))
}

/** Settles like the promise. Rejects with the signal's reason if the signal is aborted first. */
export function untilAborted<T>(promise: Promise<T> | T, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return Promise.resolve(promise)
  return new Promise<T>((resolve, reject) => {
    const stop = (): void => reject(signal.reason)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    Promise.resolve(promise)
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', stop))
  })
}
