/**
 * Whether the service can be reached. A failed or slow request is only a suspicion. One cheap probe then decides.
 * So a single lost request changes nothing, and an outage is shown within seconds.
 */
import { effect, type ReadonlySignal, signal } from '@preact/signals'
import { ApiError, NetworkError } from '@svc/sdk/errors.ts'

export type HealthState = 'ok' | 'failing'

interface HealthOptions {
  /** One request, without retries. */
  readonly probe: (signal: AbortSignal) => Promise<unknown>
  /** Aborted when the agent is closed. */
  readonly ended: AbortSignal
  readonly nowMs?: () => number
  /** A hidden page probes only during an outage, and only every 30 s. */
  readonly isVisible?: () => boolean
}

/** A request without an answer for this long is a suspicion, although it may still succeed. */
const SLOW_MS = 2_500
/** Time from a suspicion to the probe. The client's retries handle shorter faults. */
const CONFIRM_MS = 1_000
const PROBE_LIMIT_MS = 2_000
const PROBE_EVERY_MS = 3_000
const PROBE_HIDDEN_EVERY_MS = 30_000
/** Probes after this long without an answer. An open stream can survive while the rest of the service fails, and the page must
 * show an outage within 5 s. */
const IDLE_MS = 3_000
/** A proxy answers so if it cannot reach the service, and the service if it cannot work. */
const UNAVAILABLE: readonly number[] = [502, 503, 504]
const OWN_TYPES = /^(?:application\/json|text\/event-stream)\b/

export class Health {
  readonly #options: HealthOptions
  readonly #nowMs: () => number
  readonly #state = signal<HealthState>('ok')
  readonly #sinceMs = signal<number | undefined>(undefined)
  readonly #isOnline = signal(true)
  /** Changes only by the answer to a question. */
  readonly state: ReadonlySignal<HealthState> = this.#state
  /** When the first request that failed had started. Undefined if the state is `ok`. */
  readonly sinceMs: ReadonlySignal<number | undefined> = this.#sinceMs
  /** Whether the browser has a network, as far as it knows. */
  readonly isOnline: ReadonlySignal<boolean> = this.#isOnline
  /** When the oldest suspect request started. A probe, or an answer to a later request, clears it. */
  #suspectMs: number | undefined
  #answeredMs: number
  #checking: Promise<void> | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(options: HealthOptions) {
    this.#options = options
    this.#nowMs = options.nowMs ?? Date.now
    this.#answeredMs = this.#nowMs()
    options.ended.addEventListener('abort', () => clearTimeout(this.#timer))
  }

  /** Begins to listen to the browser and to ask by itself. */
  followBrowser(): void {
    const { ended: signal } = this.#options
    addEventListener('offline', () => this.loseNetwork(), { signal })
    addEventListener('online', () => this.findNetwork(), { signal })
    document.addEventListener('visibilitychange', () => this.look(), { signal })
    if (navigator.onLine) this.#schedule()
    else this.loseNetwork()
  }

  /** @returns a wrapper of `send` that records the outcome of every request. */
  watch(send: typeof fetch): typeof fetch {
    return async (target, init) => {
      const startedMs = this.#nowMs()
      const slow = setTimeout(() => this.#doubt(startedMs, 'now'), SLOW_MS)
      try {
        const response = await send(target, init)
        if (isAnswer(response)) this.#noteAnswer(startedMs)
        else this.#doubt(startedMs)
        return response
      } catch (error) {
        if (!isCancelled(init?.signal)) this.#doubt(startedMs)
        throw error
      } finally {
        clearTimeout(slow)
      }
    }
  }

  /** Asks the service now. Resolves when the state is up to date. */
  check(): Promise<void> {
    this.#checking ??= this.#ask().finally(() => {
      this.#checking = undefined
      this.#schedule()
    })
    return this.#checking
  }

  /** Settles like the task, but does not wait for the client's retries if the service is known to fail. @throws NetworkError */
  async unlessFailing<T>(task: Promise<T>): Promise<T> {
    const failing = Promise.withResolvers<never>()
    const unfollow = effect(() => {
      if (this.#state.value === 'failing') failing.reject(new NetworkError('the service does not answer'))
    })
    return Promise.race([task, failing.promise]).finally(unfollow)
  }

  /** The browser has no network any more. */
  loseNetwork(): void {
    this.#isOnline.value = false
    // A service on the same machine needs no network, so a question decides. Without a network it fails at once.
    this.#suspectMs ??= this.#nowMs()
    void this.check()
  }

  /** The browser has a network again. */
  findNetwork(): void {
    this.#isOnline.value = true
    if (this.#state.value === 'failing') void this.check()
  }

  /** The page became visible or hidden. */
  look(): void {
    if (this.#isInDoubt && this.#isVisible()) void this.check()
    else this.#schedule()
  }

  /** Whether a question is due already. */
  get #isInDoubt(): boolean {
    return this.#state.value === 'failing' || this.#suspectMs !== undefined
  }

  async #ask(): Promise<void> {
    const startedMs = this.#nowMs()
    const suspectMs = this.#suspectMs
    const isAnswered = await this.#probe()
    if (this.#options.ended.aborted) return
    if (isAnswered) {
      this.#suspectMs = undefined
      this.#answeredMs = this.#nowMs()
      this.#state.value = 'ok'
      this.#sinceMs.value = undefined
    } else if (suspectMs === undefined) this.#suspectMs ??= startedMs
    else this.#fail(suspectMs)
  }

  async #probe(): Promise<boolean> {
    const limit = new AbortController()
    const over = Promise.withResolvers<false>()
    const timer = setTimeout(() => {
      over.resolve(false)
      limit.abort()
    }, PROBE_LIMIT_MS)
    const answer = this.#options.probe(AbortSignal.any([this.#options.ended, limit.signal])).then(
      () => true,
      (error: unknown) => error instanceof ApiError && !UNAVAILABLE.includes(error.status),
    )
    const isAnswered = await Promise.race([answer, over.promise])
    clearTimeout(timer)
    return isAnswered
  }

  #noteAnswer(startedMs: number): void {
    this.#answeredMs = this.#nowMs()
    // One part of the service may work while another does not, so only a question ends an outage.
    if (this.#state.value === 'failing') void this.check()
    else if (this.#suspectMs !== undefined && startedMs >= this.#suspectMs) this.#suspectMs = undefined
  }

  #doubt(startedMs: number, confirm: 'soon' | 'now' = 'soon'): void {
    if (this.#isInDoubt) return
    this.#suspectMs = startedMs
    if (confirm === 'now' && this.#isVisible()) void this.check()
    else this.#schedule()
  }

  #fail(sinceMs: number): void {
    if (this.#state.value === 'failing') return
    this.#sinceMs.value = sinceMs
    this.#state.value = 'failing'
  }

  #schedule(): void {
    clearTimeout(this.#timer)
    if (this.#options.ended.aborted || (this.#state.value === 'ok' && !this.#isVisible())) return
    this.#timer = setTimeout(() => this.#tick(), this.#delayMs())
  }

  #tick(): void {
    // A probe is needed only if no request was answered for a while, or if there is a suspicion.
    const isIdle = this.#nowMs() - this.#answeredMs >= IDLE_MS
    if (isIdle || this.#suspectMs !== undefined) void this.check()
    else this.#schedule()
  }

  #delayMs(): number {
    if (this.#state.value === 'failing') return this.#isVisible() ? PROBE_EVERY_MS : PROBE_HIDDEN_EVERY_MS
    if (this.#suspectMs !== undefined) return CONFIRM_MS
    return Math.max(CONFIRM_MS, this.#answeredMs + IDLE_MS - this.#nowMs())
  }

  #isVisible(): boolean {
    return this.#options.isVisible?.() ?? document.visibilityState === 'visible'
  }
}

/** Whether the service itself has answered. A page of a proxy or of a login to a network is not its answer. */
function isAnswer({ status, headers }: Response): boolean {
  return !UNAVAILABLE.includes(status) && OWN_TYPES.test(headers.get('content-type') ?? '')
}

/** Whether the caller has given up. A timeout of the client is a failure. */
function isCancelled(signal: AbortSignal | null | undefined): boolean {
  return signal?.aborted === true && (signal.reason as Partial<Error> | undefined)?.name !== 'TimeoutError'
}
