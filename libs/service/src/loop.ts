import type { Logger } from '@svc/telemetry/logger.ts'
import { loopPasses } from './loop-metrics.ts'

interface LoopOptions {
  name: string
  logger: Logger
  /** Pause after a pass that leaves no work, in milliseconds. */
  intervalMs: number
  /**
   * Makes one pass. It must be safe on many replicas at once, and therefore also beside an earlier pass that was abandoned.
   * If it throws, the error is logged and the next pass follows after a backoff; an error never ends the loop.
   * @param signal aborted when the loop must end, or when the pass is abandoned.
   * @returns true if more work is waiting. The next pass then follows at once.
   */
  run: (signal: AbortSignal) => Promise<boolean>
  /** Called once, after the last pass, to end what passes have started. */
  ended?: () => Promise<void>
}

/** Background work of a service. */
export interface Loop extends AsyncDisposable {
  readonly name: string
  /** Settles if `MAX_HUNG` passes hang at once. Then the process itself is broken and must exit. */
  readonly failed: Promise<Error>
  /** Runs a pass now, or right after the current one. */
  wake(): void
  /**
   * Whether no pass has ended for the interval plus `STALLED_MS`. A failed pass has ended too: a dependency may be down,
   * and other work of the service may not need it.
   */
  isStalled(): boolean
}

const MAX_PAUSE_MS = 10_000
const FIRST_PAUSE_MS = 100
/** Everything that a pass waits for has a timeout of a few seconds. A pass that takes this long waits for an answer that was lost. */
const HUNG_MS = 30_000
/** Added to the interval of the loop. */
const STALLED_MS = 60_000
/** Maximum number of passes that hang at once, because each holds resources. */
const MAX_HUNG = 3

/**
 * Starts a loop, and its first pass at once. A pass that hangs is abandoned, and the next one starts beside it. If `MAX_HUNG` passes
 * hang, the loop has failed. Disposing aborts the signal, ends a pause, and waits for the current pass.
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
        failed.resolve(new Error(`the loop ${name} has failed: too many of its passes hang`))
        return
      }
    }
  }

  /** @returns the pause after the pass, in milliseconds. */
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
    logger.error({ loop: name }, 'a pass of a loop hangs: it is abandoned, and the next one starts')
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
