import { effect } from '@preact/signals'
import type { Health } from '../health.ts'
import { pauseOf } from './pause.ts'

interface QueueOptions {
  readonly ended: AbortSignal
  readonly health: Pick<Health, 'state'> | undefined
  /** Ids of what must be sent, in this order. */
  readonly due: () => readonly string[]
  /** One try. @returns whether no further one is needed. Never rejects. */
  readonly attempt: (id: string, signal: AbortSignal) => Promise<boolean>
}

/** Of one try, with the retries of the client. The service itself answers within 5 s. */
const TRY_MS = 15_000

/**
 * Sends what waits: one try at a time and in order, so that messages arrive in the order in which they were written. Waits longer
 * after each round that failed, and goes on at once when the service can be reached again.
 */
export class SendQueue {
  readonly #options: QueueOptions
  #isRunning = false
  #first: string | undefined
  #trying: { readonly id: string; readonly control: AbortController } | undefined
  #pausing: AbortController | undefined

  constructor(options: QueueOptions) {
    this.#options = options
    const { health, ended } = options
    if (health === undefined) return
    const unfollow = effect(() => {
      if (health.state.value === 'ok') this.#pausing?.abort()
      else this.stop()
    })
    ended.addEventListener('abort', unfollow)
  }

  get isFailing(): boolean {
    return this.#options.health?.state.value === 'failing'
  }

  /** Sends what is due, unless the service is known to fail. @param first is tried now, in any case. */
  start(first?: string): void {
    if (first !== undefined) {
      this.#first = first
      this.stop()
    }
    if (this.#isRunning) this.#pausing?.abort()
    else {
      this.#isRunning = true
      void this.#run()
    }
  }

  /** Ends the try that is under way, or only the one of this id. */
  stop(id?: string): void {
    if (id === undefined || id === this.#trying?.id)
      this.#trying?.control.abort(new DOMException('no answer came', 'TimeoutError'))
  }

  async #run(): Promise<void> {
    const { ended, due } = this.#options
    for (let failures = 0; !ended.aborted && due().length > 0; ) {
      // While the service is known to fail, nothing reaches it, and so it is certain that nothing was sent.
      const isTried = !this.isFailing || this.#first !== undefined
      failures = isTried && (await this.#tryAll()) ? 0 : failures + 1
      if (failures > 0 && this.#first === undefined) await this.#pause(failures)
    }
    this.#isRunning = false
  }

  /** @returns whether all were settled. */
  async #tryAll(): Promise<boolean> {
    const first = this.#first
    this.#first = undefined
    const ids = this.#options.due()
    let isSettled = true
    for (const id of [...ids.filter((id) => id === first), ...ids.filter((id) => id !== first)]) {
      if (!(await this.#tryOne(id))) isSettled = false
      if (this.isFailing || this.#first !== undefined) return false
    }
    return isSettled
  }

  async #tryOne(id: string): Promise<boolean> {
    const control = new AbortController()
    this.#trying = { id, control }
    const limit = setTimeout(() => this.stop(), TRY_MS)
    const isSettled = await this.#options.attempt(id, AbortSignal.any([this.#options.ended, control.signal]))
    clearTimeout(limit)
    this.#trying = undefined
    return isSettled
  }

  async #pause(failures: number): Promise<void> {
    this.#pausing = new AbortController()
    await pauseOf(failures, AbortSignal.any([this.#options.ended, this.#pausing.signal]))
    this.#pausing = undefined
  }
}
