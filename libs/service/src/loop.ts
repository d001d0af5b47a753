import type { Logger } from '@svc/telemetry/logger.ts'

export interface LoopOptions {
  name: string
  logger: Logger
  /** Pause between passes that found nothing to do. */
  intervalMs: number
  /**
   * One pass; safe on many replicas at once. Answers true where more work is waiting, so the next pass follows at once.
   * What it throws is logged and tried again after a growing pause: a loop never ends by an error.
   */
  run: (signal: AbortSignal) => Promise<boolean>
}

/** Background work of a service. */
export interface Loop extends AsyncDisposable {
  readonly name: string
  /** Runs a pass now, or again right after the one under way. */
  wake(): void
  /**
   * A pass has been hanging for long, or none has begun that should have. A pass that fails is no standstill: what it
   * needs may be away, and other work of the service may not need it.
   */
  isStalled(): boolean
}

const MAX_PAUSE_MS = 10_000
/** Beyond the loop's own interval. */
const STALLED_MS = 60_000
const FIRST_PAUSE_MS = 100

/** Begins with a pass at once. Disposing aborts the signal, ends a pause, and waits for the pass under way. */
export function startLoop({ name, logger, intervalMs, run }: LoopOptions): Loop {
  const stop = new AbortController()
  let lastEndMs = Date.now()
  let woken = false
  let interrupt: (() => void) | undefined
  const done = turn()

  return {
    name,
    wake() {
      woken = true
      interrupt?.()
    },
    isStalled: () => Date.now() - lastEndMs > intervalMs + STALLED_MS,
    async [Symbol.asyncDispose]() {
      stop.abort()
      interrupt?.()
      await done
    },
  }

  async function turn(): Promise<void> {
    let failures = 0
    while (!stop.signal.aborted) {
      woken = false
      try {
        const more = await run(stop.signal)
        failures = 0
        lastEndMs = Date.now()
        if (!more) await pause(intervalMs)
      } catch (error) {
        failures += 1
        lastEndMs = Date.now()
        logger.warn({ err: error, loop: name, failures }, 'a pass of a loop failed')
        await pause(Math.min(FIRST_PAUSE_MS * 2 ** failures, MAX_PAUSE_MS))
      }
    }
  }

  async function pause(ms: number): Promise<void> {
    if (woken || stop.signal.aborted) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      interrupt = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    interrupt = undefined
  }
}
