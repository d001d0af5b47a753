/** Waits of work in the background. */

const FIRST_PAUSE_MS = 2_000
const MAX_PAUSE_MS = 30_000

/** Lets the page do what a person waits for. */
export function idle(): Promise<void> {
  return new Promise((resolve) => {
    // Safari has no `requestIdleCallback`.
    if ('requestIdleCallback' in globalThis) requestIdleCallback(() => resolve(), { timeout: 500 })
    else setTimeout(resolve, 20)
  })
}

/** Waits longer after each failure, and less if the browser comes online. Ends with the signal. */
export async function pauseOf(failures: number, signal: AbortSignal): Promise<void> {
  const over = Promise.withResolvers<void>()
  const end = (): void => over.resolve()
  const timer = setTimeout(end, Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (failures - 1)))
  signal.addEventListener('abort', end, { once: true })
  addEventListener('online', end, { once: true })
  await over.promise
  clearTimeout(timer)
  signal.removeEventListener('abort', end)
  removeEventListener('online', end)
}
