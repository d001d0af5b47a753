import type { Logger } from '@svc/telemetry/logger.ts'
import { loopPasses } from './loop-metrics.ts'

export interface LoopOptions {
  name: string
  logger: Logger
  /** Pause between passes that found nothing to do. */
  intervalMs: number
  /**
   * One pass; safe on many replicas at once, and so beside an earlier one that was given up. Answers true where more work
   * is waiting, so the next pass follows at once. What it throws is logged and tried again after a growing pause: a loop
   * never ends by an error.
   * @param signal aborted when the loop is to end, and when the pass is given up.
   */
  run: (signal: AbortSignal) => Promise<boolean>
  /** Once, behind the last pass: ends what passes have begun. */
  ended?: () => Promise<void>
}

/** Background work of a service. */
export interface Loop extends AsyncDisposable {
  readonly name: string
  /** Settles where passes hang however often it is begun anew: what is broken is the process, which has to end. */
  readonly failed: Promise<Error>
  /** Runs a pass now, or again right after the one under way. */
  wake(): void
  /**
   * No pass has ended for long. One that fails has: what it needs may be away, and other work of the service may
   * not need it.
   */
  isStalled(): boolean
}

const MAX_PAUSE_MS = 10_000
const FIRST_PAUSE_MS = 100
/** Everything a pass waits for has a limit of its own, of some seconds: one that takes so long waits for something lost. */
const HUNG_MS = 30_000
/** Beyond the loop's own interval. */
const STALLED_MS = 60_000
/** Passes that hang at once at most, so that what they hold on to is bounded. */
const MAX_HUNG = 3

/**
 * Begins with a pass at once. One that hangs is given up, and the next one begins beside it; when `MAX_HUNG` hang, the loop has
 * failed. Disposing aborts the signal, ends a pause, and waits for the pass under way.
 */
export function startLoop({ name, logger, intervalMs, run, ended }: LoopOptions): Loop {
  const stop = new AbortController()
  const failed = Promise.withResolvers<Error>()
  let lastEndMs = Date.now()
  let hung = 0
  let failures = 0
  let woken = false
  let interrupt: (() => void) | undefined
  const done = turn()

  return {
    name,
    failed: failed.promise,
    wake() {
      woken = true
      interrupt?.()
    },
    isStalled: () => Date.now() - lastEndMs > intervalMs + STALLED_MS,
    async [Symbol.asyncDispose]() {
      stop.abort()
      interrupt?.()
      await done
      await ended?.()
    },
  }

  async function turn(): Promise<void> {
    while (!stop.signal.aborted) {
      woken = false
      await pause(await pass())
      if (hung === MAX_HUNG) {
        failed.resolve(new Error(`the loop ${name} does not go on`))
        return
      }
    }
  }

  /** @returns the pause behind it, milliseconds. */
  async function pass(): Promise<number> {
    const given = new AbortController()
    const limit = Promise.withResolvers<'hung'>()
    const timer = setTimeout(() => limit.resolve('hung'), HUNG_MS)
    const work = runOnce(AbortSignal.any([stop.signal, given.signal]))
    try {
      const pauseMs = await Promise.race([work, limit.promise])
      if (pauseMs !== 'hung') return pauseMs
    } finally {
      clearTimeout(timer)
    }
    logger.error({ loop: name }, 'a pass of a loop hangs: it is given up, and the next one begins')
    hung += 1
    loopPasses.add({ loop: name, outcome: 'hung' })
    void work.finally(() => {
      hung -= 1
    })
    given.abort()
    return 0
  }

  async function runOnce(signal: AbortSignal): Promise<number> {
    try {
      const more = await run(signal)
      failures = 0
      loopPasses.add({ loop: name, outcome: 'ok' })
      return more ? 0 : intervalMs
    } catch (error) {
      failures += 1
      loopPasses.add({ loop: name, outcome: 'failed' })
      logger.warn({ err: error, loop: name, failures }, 'a pass of a loop failed')
      return Math.min(FIRST_PAUSE_MS * 2 ** failures, MAX_PAUSE_MS)
    } finally {
      lastEndMs = Date.now()
    }
  }

  async function pause(ms: number): Promise<void> {
    if (ms === 0 || woken || stop.signal.aborted) return
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
