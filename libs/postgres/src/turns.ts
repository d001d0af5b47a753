/** Limits concurrency: at most `atOnce` pieces of work run together, and the others wait in order. */
export function createTurns(atOnce: number): <T>(work: () => PromiseLike<T>) => Promise<T> {
  let free = atOnce
  const waiting: (() => void)[] = []
  return async (work) => {
    if (free > 0) free -= 1
    else await new Promise<void>((resolve) => void waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free += 1
      else next()
    }
  }
}
