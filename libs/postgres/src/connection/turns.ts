/**
 * Runs a piece of work when it is its turn. Of the work that needs the same lock, one piece runs at a time. More would only wait
 * for the lock, and take places that other work needs.
 * @param lock names what the work locks. Work without a lock waits only for a free place.
 */
type InTurn = <T>(work: () => PromiseLike<T>, lock?: string) => Promise<T>

type Lock = string | symbol

/** Runs at most `atOnce` pieces of work at a time. Waiting work is served round-robin over the locks, and in order within a lock. */
export function createTurns(atOnce: number): InTurn {
  const busy = new Set<Lock>()
  /** The waiting work, by lock. The first lock that is not busy is next, and then goes to the end. */
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

  /** Gives the place of finished work to the next lock. */
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
