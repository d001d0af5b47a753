/**
 * Keeps calls that strangers can trigger from delaying the other calls of a process. They wait in their own queue, and at most
 * one begins in each turn of the event loop. Other work runs between two of them.
 */
export interface Lane {
  readonly isFull: boolean
  /** Starts the work when its turn comes. Callers must check `isFull` first. */
  run<T>(work: () => Promise<T>): Promise<T>
}

export interface LaneLimits {
  /** Maximum number of concurrent calls, e.g. so that they do not take all connections to a database. */
  readonly concurrency: number
  readonly maxWaiting: number
}

export function createLane({ concurrency, maxWaiting }: LaneLimits): Lane {
  const waiting: (() => void)[] = []
  let running = 0
  let scheduled = false

  return {
    get isFull() {
      return waiting.length >= maxWaiting
    },
    async run(work) {
      await new Promise<void>((resolve) => {
        waiting.push(resolve)
        schedule()
      })
      try {
        return await work()
      } finally {
        running -= 1
        schedule()
      }
    },
  }

  function schedule(): void {
    if (scheduled || waiting.length === 0 || running >= concurrency) return
    scheduled = true
    setImmediate(() => {
      scheduled = false
      running += 1
      waiting.shift()?.()
      schedule()
    })
  }
}
