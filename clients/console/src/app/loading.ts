/**
 * Loads parts of the console before they are needed, and repeats what fails.
 *
 * Browsers before 2026 keep a failed `import()` of an address and fail every later one without a request (HTML, module map). So
 * the file is fetched first. It may be kept for ever, and so the import then takes it from the browser's cache.
 */
import { type ReadonlySignal, signal } from '@preact/signals'

/**
 * - `waiting`: a load has failed. It is repeated.
 * - `outdated`: the service answers, but does not have the file any more. Only a reload helps.
 */
type LoadingState = 'loading' | 'waiting' | 'outdated' | 'loaded'

export interface Part {
  /** Address of its file. Undefined if it is not known. */
  readonly address: string | undefined
  /** Absent for a file that only has to be in the browser's cache. */
  readonly load?: (() => Promise<unknown>) | undefined
}

interface LoadingOptions {
  readonly parts: readonly Part[]
  readonly fetch: typeof fetch
  /** Waits after a number of failures. Ends with the signal. */
  readonly pause: (failures: number, signal: AbortSignal) => Promise<void>
}

/** While the service is updated, one gateway may have the file and another one not. */
const OUTDATED_AFTER = 2
/** A proxy answers so if it cannot reach the service. */
const UNAVAILABLE: readonly number[] = [429, 502, 503, 504]

export class Loading {
  readonly #options: LoadingOptions
  readonly #state = signal<LoadingState>('loading')
  readonly state: ReadonlySignal<LoadingState> = this.#state
  #running: Promise<void> | undefined
  #pausing = new AbortController()
  /** Loads in a row that failed although the service answered. */
  #answered = 0

  constructor(options: LoadingOptions) {
    this.#options = options
  }

  /** Loads now, and ends a pause between two tries. Resolves when everything is loaded. */
  start(): Promise<void> {
    this.#pausing.abort()
    this.#running ??= this.#run()
    return this.#running
  }

  async #run(): Promise<void> {
    const waiting = [...this.#options.parts]
    for (let failures = 0; ; ) {
      try {
        for (let part = waiting[0]; part !== undefined; part = waiting[0]) {
          await this.#load(part)
          waiting.shift()
        }
        this.#state.value = 'loaded'
        return
      } catch {
        failures += 1
        this.#state.value = this.#answered >= OUTDATED_AFTER ? 'outdated' : 'waiting'
        this.#pausing = new AbortController()
        await this.#options.pause(failures, this.#pausing.signal)
      }
    }
  }

  async #load({ address, load }: Part): Promise<void> {
    let hasAnswered = false
    try {
      if (address !== undefined) {
        const response = await this.#options.fetch(address)
        hasAnswered = !UNAVAILABLE.includes(response.status)
        if (!response.ok) throw new Error(`${address} answered ${response.status}`)
        // The whole file must be in the cache.
        await response.arrayBuffer()
      }
      await load?.()
      this.#answered = 0
    } catch (error) {
      this.#answered = hasAnswered ? this.#answered + 1 : 0
      throw error
    }
  }
}

/** The bundler writes the name of a file only into `import()`, so it is read there. */
export function addressIn(load: () => Promise<unknown>, base: string): string | undefined {
  const [, name] = /import\(\s*["'`]([^"'`]+\.js)["'`]\s*\)/.exec(String(load)) ?? []
  return name === undefined ? undefined : new URL(name, base).href
}
