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
export function startLoop(options: LoopOptions): Loop {
  return new RunningLoop(options)
}

class RunningLoop implements Loop {
  readonly name: string
  readonly failed: Promise<Error>
  readonly #options: LoopOptions
  readonly #stop = new AbortController()
  readonly #fail: (error: Error) => void
  readonly #done: Promise<void>
  #lastEndMs = Date.now()
  #hung = 0
  #failures = 0
  #woken = false
  #endPause: (() => void) | undefined

  constructor(options: LoopOptions) {
    const { promise, resolve } = Promise.withResolvers<Error>()
    this.name = options.name
    this.failed = promise
    this.#fail = resolve
    this.#options = options
    loopPasses.startAt0({ loop: options.name, outcome: ['failed', 'hung'] })
    this.#done = this.#repeatPasses()
  }

  wake(): void {
    this.#woken = true
    this.#endPause?.()
  }

  isStalled(): boolean {
    return Date.now() - this.#lastEndMs > this.#options.intervalMs + STALLED_MS
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    this.#endPause?.()
    await this.#done
    await this.#options.ended?.()
  }

  async #repeatPasses(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      this.#woken = false
      await this.#pause(await this.#passUnlessHung())
      if (this.#hung === MAX_HUNG) {
        this.#fail(new Error(`the loop ${this.name} has failed: too many of its passes hang`))
        return
      }
    }
  }

  /** @returns the pause after the pass, in milliseconds. */
  async #passUnlessHung(): Promise<number> {
    const given = new AbortController()
    const limit = Promise.withResolvers<'hung'>()
    const timer = setTimeout(() => limit.resolve('hung'), HUNG_MS)
    const work = this.#makePass(AbortSignal.any([this.#stop.signal, given.signal]))
    try {
      const pauseMs = await Promise.race([work, limit.promise])
      if (pauseMs !== 'hung') return pauseMs
    } finally {
      clearTimeout(timer)
    }
    this.#options.logger.error({ loop: this.name }, 'a pass of a loop hangs: it is abandoned, and the next one starts')
    this.#hung += 1
    loopPasses.add({ loop: this.name, outcome: 'hung' })
    void work.finally(() => {
      this.#hung -= 1
    })
    given.abort()
    return 0
  }

  async #makePass(signal: AbortSignal): Promise<number> {
    const { run, intervalMs, logger } = this.#options
    try {
      const more = await run(signal)
      this.#failures = 0
      loopPasses.add({ loop: this.name, outcome: 'ok' })
      return more ? 0 : intervalMs
    } catch (error) {
      this.#failures += 1
      loopPasses.add({ loop: this.name, outcome: 'failed' })
      logger.warn({ err: error, loop: this.name, failures: this.#failures }, 'a pass of a loop failed')
      return Math.min(FIRST_PAUSE_MS * 2 ** this.#failures, MAX_PAUSE_MS)
    } finally {
      this.#lastEndMs = Date.now()
    }
  }

  async #pause(ms: number): Promise<void> {
    if (ms === 0 || this.#woken || this.#stop.signal.aborted) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#endPause = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#endPause = undefined
  }
}
