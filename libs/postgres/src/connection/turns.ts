/**
 * Runs a piece of work when it is its turn. Work that needs the same lock runs one at a time, because more of it would only wait
 * for that lock, in places that other work needs.
 * @param lock names what the work locks. Work without it does not wait for any lock of the others.
 */
type InTurn = <T>(work: () => PromiseLike<T>, lock?: string) => Promise<T>

type Lock = string | symbol

/** Limits concurrency: at most `atOnce` pieces of work run together. The others wait: locks take turns, each in its own order. */
export function createTurns(atOnce: number): InTurn {
  const busy = new Set<Lock>()
  /** Those that wait, by lock. The first lock that is not busy is next, and then goes to the end. */
  const waiting = new Map<Lock, (() => void)[]>()
  return async (work, lock: Lock = Symbol('no lock')) => {
    if (busy.size < atOnce && !busy.has(lock)) busy.add(lock)
    else await turnOf(lock)
    try {
      return await work()
    } finally {
      busy.delete(lock)
      passOn()
    }
  }

  function turnOf(lock: Lock): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const queue = waiting.get(lock) ?? []
    waiting.set(lock, queue)
    queue.push(resolve)
    return promise
  }

  /** Gives the place of work that has ended to the next lock. */
  function passOn(): void {
    for (const [lock, queue] of waiting) {
      if (busy.has(lock)) continue
      const next = queue.shift()
      waiting.delete(lock)
      if (queue.length > 0) waiting.set(lock, queue)
      busy.add(lock)
      next?.()
      return
    }
  }
}
